#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "server/options/config.hpp"
#include "server/options/config_file.hpp"
#include "server/statsd/statsd_options.hpp"

namespace millrace::server {

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
