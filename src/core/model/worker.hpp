#pragma once

#include <absl/container/btree_map.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/model/types.hpp"

namespace millrace {

/// A Faktory worker process: one `wid`, any number of connections. It is not stored.
struct Worker {
  enum class State : std::uint8_t { kRunning, kQuiet, kTerminate };  ///< moves to the right only

  std::string wid;
  std::string hostname;
  std::int64_t pid = 0;
  std::vector<std::string> labels;
  std::int64_t rss_kb = 0;
  State state = State::kRunning;
  Time started_at{};
  Time last_beat{};
  std::set<ClientId> clients;
};

/// The workers that are connected, by wid.
using Workers = absl::btree_map<std::string, Worker>;

/// A worker that has sent no BEAT for this long is dropped, and its connections are closed. The
/// reference server has the same limit, and checks it every 15 s.
inline constexpr Duration kHeartbeatLimit = 60s;

}  // namespace millrace
