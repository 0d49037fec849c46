#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "core/broker/requests.hpp"
#include "core/ports/work_unit.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// Knows a push that is sent again. A client that did not see the answer pushes the same job once
/// more: while the job lives, that adds nothing.
class PushOnce {
 public:
  /// Of many jobs with one jid, the newest are looked at: a client does not wait long before it
  /// pushes again.
  static constexpr std::size_t kNamesakesMax = 16;
  /// Of bodies longer than `WorkUnitFormat::kComparedBytesMax`, one is compared: it may have to be
  /// read from the disk while all clients wait. Their lengths differ by so much at most.
  static constexpr std::size_t kLongBodiesDifferMax = 1024;

  /// Both outlive this. Not `is_on`: no push is known.
  PushOnce(const Ledger& ledger, const WorkUnitFormat& format, bool is_on)
      : ledger_(ledger), format_(format), is_on_(is_on) {}

  /// See `WorkUnitFormat::name_hash`.
  [[nodiscard]] std::uint32_t hash_of(const NewJob& job) const {
    return job.kind == JobKind::kWorkUnit ? format_.name_hash(job.body) : 0;
  }
  /// The job that the same push has made: in the same queue and batch, `WorkUnitFormat::is_same`,
  /// and alive. It is not if it is dead or has expired, since it would not run for this push; nor
  /// if `worker` holds it, which puts it back before it is done. Throws std::runtime_error when a
  /// body cannot be read back.
  [[nodiscard]] std::optional<JobId> find(const NewJob& job, std::uint32_t hash,
                                          std::string_view worker, Time now) const;

 private:
  [[nodiscard]] bool may_be(const Job& other, const NewJob& job, std::string_view worker,
                            Time wall) const;

  const Ledger& ledger_;
  const WorkUnitFormat& format_;
  bool is_on_;
};

}  // namespace millrace
