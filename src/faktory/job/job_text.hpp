#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/long_text.hpp"
#include "base/steps.hpp"
#include "core/model/queue.hpp"
#include "core/ports/work_unit.hpp"
#include "faktory/job/wrapped_body.hpp"

namespace millrace::faktory {

/// The JSON of a job with all its members, in parts that cost a bounded number of steps each. It
/// may be read over several calls from outside, in which the job's body was in other memory.
class JobText {
 public:
  JobText(const WorkUnitFormat& format, WallClock clock) : format_(&format), clock_(clock) {}

  /// From here on all is of this job, from the beginning of its text.
  void begin();

  /// To be called before `next` in each call from outside. The job is shown as it was in the first.
  void show(const Job& job, const Queue& queue);

  /// The next part, good until the next call of anything here; empty: the text is over. nullopt:
  /// too few steps are left.
  [[nodiscard]] std::optional<std::string_view> next(const Job& job, Steps& steps);

 private:
  static constexpr std::size_t kPartBytes = 32 * 1024;
  /// What a step of a comparison takes, bytes are copied in.
  static constexpr std::size_t kCopiedBytesPerStep = 16;

  [[nodiscard]] bool measure(const Job& job, Steps& steps);

  const WorkUnitFormat* format_;
  WallClock clock_;
  std::string part_;
  LongText rest_;                       ///< of a text that is in the body
  std::optional<WrappedBody> wrapped_;  ///< the text is not in the body
  bool is_measured_ = false;
  bool is_over_ = false;         ///< `wrapped_` was read to its end
  std::size_t taken_bytes_ = 0;  ///< of `rest_`
};

}  // namespace millrace::faktory
