#include "core/broker/admission_control.hpp"

#include "core/ports/session.hpp"

namespace millrace {

bool AdmissionControl::is_batch_full() const {
  // The texts of failures can be long, so the number of jobs does not bound the batch. Where room
  // is short the batch stays shorter, since all of it must fit.
  const std::size_t bytes_max = admits_jobs() ? kBatchBytesPause : kBatchBytesPause / 8;
  return ledger_.batch_bytes() >= bytes_max;
}

}  // namespace millrace
