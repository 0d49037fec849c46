#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/types.hpp"

namespace millrace::server {

/// Runs that have ended, one after the other in one text: noting one must cost little.
class StatsdRuns {
 public:
  /// What does not fit into `kStatsdRunBytesMax` is only counted.
  void add(Duration took, std::string_view queue, std::string_view jobtype);

  using Visitor =
      std::function<void(Duration took, std::string_view queue, std::string_view jobtype)>;
  void each(const Visitor& visit) const;

  [[nodiscard]] bool is_empty() const { return text_.empty() && left_out_ == 0; }
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  std::string text_;
  std::uint64_t left_out_ = 0;
};

inline constexpr std::size_t kStatsdRunBytesMax = std::size_t{1} << 20;

/// What only grows, by the names of the metrics. A server begins with what its log counts.
struct StatsdCounts {
  std::uint64_t processed = 0;
  std::uint64_t failed = 0;
  std::uint64_t expired = 0;
  std::uint64_t locks_taken = 0;
  std::uint64_t locks_denied = 0;
  std::uint64_t cron_enqueued = 0;
  std::uint64_t cron_refused = 0;
  std::uint64_t batch_callbacks = 0;

  bool operator==(const StatsdCounts&) const = default;
};

/// What is sent once in a while.
struct StatsdGauges {
  struct OfQueue {
    std::string name;
    std::uint64_t size = 0;
    double latency_s = 0;
  };
  std::vector<std::pair<const char*, std::uint64_t>> values;  ///< by the names of the metrics
  std::vector<OfQueue> queues;
  std::vector<OfQueue> latencies;  ///< those that were asked for by name
};

/// What the main loop's thread hands to the one that sends.
struct StatsdReport {
  StatsdRuns runs;
  StatsdCounts counts;  ///< up to now, not since the last report: one that is lost costs nothing
  std::optional<StatsdGauges> gauges;
};

}  // namespace millrace::server
