#pragma once

#include <absl/functional/function_ref.h>

#include <string>
#include <string_view>
#include <utility>

#include "core/model/job.hpp"
#include "core/ports/work_unit.hpp"

namespace millrace {

/// Which type of a job is limited. To read one costs more than to compare it with the last one.
class TypeReader {
 public:
  /// `format` outlives this.
  void read_by(const WorkUnitFormat& format) { format_ = &format; }

  /// Whether the throttle of that name, `type:` and a jobtype, has limits.
  using IsLimited = absl::FunctionRef<bool(std::string_view name)>;
  /// The name for the job's type, if that has limits, or else for its wrapper; null: neither has
  /// any. The body is in memory, but for a job that has just left. Valid until the next call.
  [[nodiscard]] const std::string* limited_type(const Job& job, IsLimited is_limited);

  /// A job that is touched leaves and enters at once, and its body may be in the log only.
  void note_left(const Job& job, const std::string& name) { left_ = {job.id, name}; }
  /// Other types have limits from now on.
  void forget() { known_ = {}; }

 private:
  struct Known {
    std::string part;  ///< see `WorkUnitFormat::Type::bytes`; empty: none was read
    std::string name;  ///< as that of a throttle
    bool is_limited = false;
  };

  const WorkUnitFormat* format_ = nullptr;
  Known known_;
  std::pair<JobId, std::string> left_;
};

}  // namespace millrace
