#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "http/kit/cluster.hpp"

namespace millrace::server {

/// Adds the leaders of the last `NodeReports::kForgottenAfter` that died, as far as nothing was
/// heard of them since: they have reported to nobody. They are silent since the lead was taken from
/// them.
void add_dead_leaders(http::ClusterFacts& facts, Time now);

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

/// HMAC-SHA-256, as 64 hexadecimal digits.
[[nodiscard]] std::string hmac_of(std::string_view key, std::string_view text);

/// What the reports of nodes are signed with. It comes from the password by scrypt, which takes a
/// tenth of a second and 32 MiB: so does each guess of somebody who has captured a report. Without
/// a password anybody can sign, and nothing takes long.
class ReportKey {
 public:
  explicit ReportKey(std::string_view password);

  /// Shows that the sender of a report knows the password, without telling it: `2:` and 64
  /// hexadecimal digits (HMAC-SHA-256).
  [[nodiscard]] std::string sign(std::string_view report) const;

 private:
  std::array<unsigned char, 32> key_{};
};

}  // namespace millrace::server
