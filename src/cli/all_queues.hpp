#pragma once

#include <cstdint>
#include <string>

#include "cli/session.hpp"

namespace millrace::cli {

/// One document with all queues by name: the server answers in slices, and each slice in pages.
struct AllQueues {
  Json document;
  std::int64_t now_ms = 0;  ///< the server's clock
};

/// `match`: those whose names have this part; empty: all.
[[nodiscard]] Reply<AllQueues> read_queues(Session& session, const std::string& match);

}  // namespace millrace::cli
