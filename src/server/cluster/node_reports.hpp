#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "http/kit/cluster.hpp"

namespace millrace::server {

/// What the leader of a shared log has been told by the servers that follow.
class NodeReports {
 public:
  /// `stored` is the last message of the log by now. True: another server reports under the same
  /// name.
  bool take(http::NodeReport report, std::uint64_t stored, Time now);

  /// By name, without those that were not heard of for `kForgottenAfter`.
  [[nodiscard]] std::vector<http::ClusterNode> list(Time now) const;

  /// How many were heard of lately.
  [[nodiscard]] std::size_t count(Time now) const;

  static constexpr std::size_t kNodesMax = 64;  ///< further ones are not noted
  static constexpr Duration kForgottenAfter = std::chrono::minutes(10);
  static constexpr std::size_t kInstancesMax = 8;  ///< of one name; older ones are not remembered

 private:
  struct Heard {
    http::ClusterNode node;
    Time at{};
    /// Servers that have reported under the name. Each is there once, the one heard of last at the
    /// end.
    std::vector<std::uint64_t> instances;
    Time last_return = Time::min();  ///< when one was heard of after another one

    void note(std::uint64_t instance, Time now);
    [[nodiscard]] bool has_namesake(Time now) const;
  };

  std::map<std::string, Heard> heard_;  ///< by name
};

}  // namespace millrace::server
