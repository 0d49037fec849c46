#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "server/net/address.hpp"

namespace millrace::server {

class ConfigDocument;
struct IgnoredKey;

/// The table `[statsd]` of the config files.
struct StatsdOptions {
  Address location;                         ///< where statsd listens: HOST:PORT, by UDP
  std::string name_space = "faktory.";      ///< in front of all names; may be empty
  std::vector<std::string> tags;            ///< of all lines
  std::size_t buffer_size = 15;             ///< how many lines a datagram has at most
  std::vector<std::string> latency_queues;  ///< those that have a gauge `latency.NAME`

  bool operator==(const StatsdOptions&) const = default;
};

inline constexpr std::string_view kStatsdTable = "statsd";

// A line must fit into a datagram, whatever it is about.
inline constexpr std::size_t kStatsdNamespaceBytesMax = 100;
inline constexpr std::size_t kStatsdTagBytesMax = 500;  ///< of all tags together
inline constexpr std::size_t kStatsdBufferSizeMax = 1'000;
inline constexpr std::size_t kStatsdLatencyBytesMax = 10'000;  ///< of all names together

/// Reads the table from these documents, one of which may have it. Adds unknown keys to `ignored`.
/// A problem begins with `FILE:LINE: `.
///
///     [statsd]
///     location = "localhost:8125"
///     namespace = "jobs."
///     tags = ["env:production"]
///     bufferSize = 15
///     queueLatency = ["critical"]
[[nodiscard]] Outcome<std::optional<StatsdOptions>> read_statsd(
    std::span<const ConfigDocument> documents, std::vector<IgnoredKey>& ignored);

/// What `udp://HOST:PORT` means, the value of DD_DOGSTATSD_URL.
[[nodiscard]] Outcome<StatsdOptions> statsd_at(std::string_view url);

}  // namespace millrace::server
