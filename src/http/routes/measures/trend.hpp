#pragma once

#include <cstdint>
#include <deque>

#include "core/broker/view.hpp"
#include "core/model/types.hpp"
#include "http/kit/json.hpp"

namespace millrace::http {

/// Keeps the server's totals of the last minutes, so that a chart has a past when it is opened.
class Trend {
 public:
  static constexpr Duration kInterval = 2s;
  static constexpr std::size_t kSamplesMax = 450;  ///< a quarter of an hour

  struct Sample {
    Time at{};
    std::uint64_t processed = 0;
    std::uint64_t failed = 0;
    std::uint64_t enqueued = 0;
    std::uint64_t ready = 0;
    std::uint64_t reserved = 0;
    std::uint64_t scheduled = 0;
    std::uint64_t retrying = 0;
    std::uint64_t dead = 0;
  };

  /// Takes a sample if one is due. To be called at least every `kInterval`.
  void note(const View& view, Time now);
  [[nodiscard]] Time next_due() const { return next_; }

  /// For `MeasureCopy`. `load` throws if the JSON is not what `save` answers.
  [[nodiscard]] Json save() const;
  [[nodiscard]] static Trend load(const Json& saved, Time now);

  /// The oldest first.
  [[nodiscard]] const std::deque<Sample>& samples() const { return samples_; }

  /// By how much the totals grew per second in the last `span`, as far back as there are samples.
  struct Rates {
    double processed = 0;
    double failed = 0;
    double enqueued = 0;
  };
  [[nodiscard]] Rates rates(Duration span) const;

  /// The same between two ages: [from, to) before the last sample.
  [[nodiscard]] Rates rates_between(Duration from, Duration to) const;

 private:
  [[nodiscard]] const Sample& sample_before(Duration age) const;

  std::deque<Sample> samples_;
  std::uint64_t enqueued_before_ = 0;  ///< by earlier processes
  Time next_ = Time::min();
};

}  // namespace millrace::http
