#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/model/job.hpp"
#include "core/model/wall_clock.hpp"

namespace millrace::faktory {

/// A long body that is no work unit, shown as the only argument of a job, as `WorkUnits::render`
/// shows it. It is read and written in steps of bounded work: `measure`, then `append_some`, each
/// until it answers true. The body is not kept: each call is given the same one.
class WrappedBody {
 public:
  /// What is shown of the job is as it is now.
  WrappedBody(const Job& job, std::string_view queue, WallClock clock);

  /// Reads on. True: `size` is known.
  [[nodiscard]] bool measure(std::string_view body);

  /// Appends the next part. True: it was the last one.
  [[nodiscard]] bool append_some(std::string_view body, std::string& out);

  /// Of the whole.
  [[nodiscard]] std::size_t size() const { return size_; }

  /// At most so much of a body is read in one step.
  static constexpr std::size_t kMeasuredBytes = 128 * 1024;
  static constexpr std::size_t kWrittenBytes = 24 * 1024;
  static_assert(kWrittenBytes % 3 == 0, "base64 is padded at the end only");

 private:
  void render_around();

  Job job_;  ///< the same with another body
  std::string queue_;
  WallClock clock_;
  bool is_text_ = true;
  std::string begin_;  ///< what is before the argument, and after it
  std::string end_;
  std::size_t at_ = 0;  ///< in the body
  std::size_t size_ = 0;
};

}  // namespace millrace::faktory
