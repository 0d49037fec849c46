#pragma once

#include <absl/container/btree_map.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/model/types.hpp"

namespace millrace {

/// A worker process as FWP knows it: one `wid`, any number of connections. Nothing of it is stored.
struct Worker {
  enum class State : std::uint8_t { kRunning, kQuiet, kTerminate };  ///< only ever moves rightwards

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

/// A worker that has not sent BEAT for so long is dropped and its connections are closed
/// (reference server: 60 s, looked at every 15 s).
inline constexpr Duration kHeartbeatLimit = 60s;

}  // namespace millrace
