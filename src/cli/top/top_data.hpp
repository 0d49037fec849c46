#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/session.hpp"

namespace millrace::cli {

/// Who holds jobs, and which one for the longest time.
struct TopHolder {
  std::string name;  ///< a wid, or `connection 12`
  std::string state;
  std::uint64_t jobs = 0;
  std::string runs;   ///< the type of its oldest job, else the queue of that job; empty: none
  std::string since;  ///< when it took that
};

/// What `top` shows of a server at a moment.
struct TopData {
  Json overview;
  Json server;
  Json queues;  ///< a list, by name
  std::vector<TopHolder> holders;
  std::int64_t now_ms = 0;          ///< the server's clock
  std::optional<double> commit_ms;  ///< of the commits since the last look, or of all before
};

/// Asks the server again and again.
class TopReader {
 public:
  explicit TopReader(Session& session) : session_(session) {}
  [[nodiscard]] Reply<TopData> read();

 private:
  [[nodiscard]] Reply<std::vector<TopHolder>> read_holders();
  [[nodiscard]] std::optional<double> commit_ms_of(const Json& journal);

  Session& session_;
  std::uint64_t commits_ = 0;
  double commit_seconds_ = 0;
  std::optional<double> commit_ms_;
};

}  // namespace millrace::cli
