#include "core/state/batches/job_batches.hpp"

#include "support/doctest.hpp"

namespace millrace::test {
namespace {

JobBatch used_at(Time since, std::uint32_t states) {
  JobBatch batch;
  batch.fields.since = since;
  batch.fields.states = states;
  return batch;
}

TEST_CASE("batches: one that nobody commits has 30 minutes from its last use") {
  CHECK(JobBatches::deadline_of(used_at(Time{5s}, 0)) == Time{5s} + 30min);
}

TEST_CASE("batches: a use at the end of time has no deadline") {
  constexpr std::uint32_t kFinished = JobBatchFields::kCommitted | JobBatchFields::kFinished;
  CHECK(JobBatches::deadline_of(used_at(kNever - 1s, 0)) == kNever);
  CHECK(JobBatches::deadline_of(used_at(kNever - 1s, kFinished)) == kNever);
}

}  // namespace
}  // namespace millrace::test
