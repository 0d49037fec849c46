#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ports/shared_journal.hpp"
#include "http/kit/leadership.hpp"
#include "http/kit/node_report.hpp"

namespace millrace::http {

/// One of the servers that share a log, as the leader knows it.
struct ClusterNode {
  NodeReport told;
  bool leads = false;
  /// How far it is behind the leader, when it was heard of last.
  std::uint64_t lag_messages = 0;
  double heard_seconds = 0;   ///< since then
  bool has_namesake = false;  ///< another server reports under its name
};

/// A node that was not heard of for longer than that does not count as there.
inline constexpr double kSilentAfterSeconds = 5;

/// The servers that share a log, as the leader knows them.
struct ClusterFacts {
  LeadershipFacts leadership;
  std::string log_url;             ///< as it may be shown; empty: the log is not shared
  std::vector<ClusterNode> nodes;  ///< the leader first, then by name
  std::vector<SharedJournal::Takeover> takeovers;  ///< oldest first
};

}  // namespace millrace::http
