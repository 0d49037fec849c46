#include "core/state/job_memory.hpp"

#include "base/check.hpp"

namespace millrace {

void JobMemory::limit(Journal& journal, std::size_t bytes_max) {
  bytes_max_ = bytes_max;
  spills_ = true;
  store_.jobs().bodies().spill_to(journal, bytes_max);
}

void JobMemory::limit(std::size_t bytes_max) {
  CHECK(!spills_);
  bytes_max_ = bytes_max;
}

std::size_t JobMemory::needed_bytes() const {
  // Bodies that can be spilled are no reason to refuse jobs.
  return bytes() - (spills_ ? store_.jobs().bodies().bytes() : 0);
}

bool JobMemory::is_full(Admission admission) const {
  // Without the difference, jobs would be taken and refused in turn with each job that ends.
  const bool refuses_jobs = admission != Admission::kEverything;
  return needed_bytes() >= (refuses_jobs ? bytes_max_ - bytes_max_ / 16 : bytes_max_);
}

}  // namespace millrace
