#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/broker/features/activity.hpp"
#include "http/kit/json.hpp"
#include "http/routes/alerts.hpp"
#include "http/routes/measures/failure_series.hpp"
#include "http/routes/measures/series.hpp"

namespace millrace::http {

/// The recent past that is not in the log: what charts show, and who changed what.
struct Measures {
  Series& series;
  FailureSeries& failures;
  Alerts& alerts;
  Activity& activity;
};

/// A copy of them that outlives the process, 18 MB at most: made in slices, in the broker's thread.
class MeasureCopy {
 public:
  /// What `measures` refers to outlives this, or is not used any more.
  explicit MeasureCopy(const Measures& measures);

  /// Copies some more. True: that was all.
  bool work();

  /// The copy as bytes. Any thread may call it, once `work` has copied all.
  [[nodiscard]] std::string encode() const;

 private:
  /// How many lines, groups and changes a slice copies.
  static constexpr std::size_t kSlice = 20;

  Measures measures_;
  std::vector<std::string> queues_;
  std::vector<std::string> types_;
  std::vector<std::uint64_t> groups_;
  std::size_t next_ = 0;             ///< of these three lists, one after the other
  Activity::Number changes_before_;  ///< are to be copied, the latest first
  Json copy_;
};

/// Takes over what an earlier process had, before the first line is measured. False, and nothing is
/// taken: the bytes are damaged, or another version wrote them.
[[nodiscard]] bool restore(std::string_view bytes, const Measures& measures, Time now);

}  // namespace millrace::http
