#pragma once

#include <string>
#include <string_view>

#include "core/model/job.hpp"
#include "core/ports/work_unit.hpp"
#include "faktory/job/job_reader.hpp"

namespace millrace::faktory {

/// Shows a pushed job as it was sent, out of its stored form; one that was put as the work unit
/// that its body is, else as one whose only argument is the body. Has no state but buffers. One
/// thread at a time.
class WorkUnits final : public WorkUnitFormat {
 public:
  [[nodiscard]] Identity identify(const Job& job) const override;
  [[nodiscard]] Summary summarize(const Job& job) const override;
  void render(const Job& job, std::string_view queue, std::string& out) const override;

 private:
  mutable JobReader reader_;
};

}  // namespace millrace::faktory
