#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "http/kit/json.hpp"

namespace millrace::http {

/// What a server that follows a shared log tells the leader of itself, about once a second: an HTTP
/// request without a body. Its headers are the report as one line of JSON, and a signature that
/// shows that its sender knows the password.
///
///     POST /cluster/report HTTP/1.1
///     X-Millrace-Node: {"node":"b","epoch":7,"version":"0.1",...}
///     X-Millrace-Signature: 2:, and 64 hexadecimal digits
struct NodeReport {
  std::string node;
  std::uint64_t instance = 0;  ///< random: names the running server; 0: not told, as by older ones
  std::uint64_t epoch = 0;     ///< of the leader that it follows
  std::string version;
  std::string ports;          ///< `name=address`, separated by blanks
  std::uint64_t applied = 0;  ///< the last message of the log that it has applied
  std::optional<double> lag_seconds;
  std::string problem;       ///< why it cannot reach the log: one line; or empty
  std::string out_of_reach;  ///< the leader's ports to which it passes no clients on, as `ports`;
                             ///< or without an address

  bool operator==(const NodeReport&) const = default;
};

inline constexpr std::string_view kReportPath = "/cluster/report";
inline constexpr const char* kReportHeader = "x-millrace-node";
inline constexpr const char* kSignatureHeader = "x-millrace-signature";

/// Longer ones are refused, and so are names and problems of more than `kReportTextMax` bytes.
inline constexpr std::size_t kReportBytesMax = 8 * 1024;
inline constexpr std::size_t kReportTextMax = 1024;

/// One line of ASCII.
[[nodiscard]] std::string encode(const NodeReport& report);

/// Members that are not known are ignored, since they may be of a newer version.
[[nodiscard]] Outcome<NodeReport> decode_report(std::string_view text);

}  // namespace millrace::http
