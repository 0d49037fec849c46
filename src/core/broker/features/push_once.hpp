#pragma once

#include <cstddef>
#include <optional>

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

  /// Both outlive this. Not `is_on`: no push is known.
  PushOnce(const Ledger& ledger, const WorkUnitFormat& format, bool is_on)
      : ledger_(ledger), format_(format), is_on_(is_on) {}

  /// See `WorkUnitFormat::name_hash`.
  [[nodiscard]] std::uint32_t hash_of(const NewJob& job) const {
    return job.kind == JobKind::kWorkUnit ? format_.name_hash(job.body) : 0;
  }
  /// The job that the same push has made: in the same queue and batch, `WorkUnitFormat::is_same`,
  /// and not dead, since a client that pushes a dead job wants it to run. Throws
  /// std::runtime_error when a body cannot be read back.
  [[nodiscard]] std::optional<JobId> find(const NewJob& job, std::uint32_t hash) const;

 private:
  const Ledger& ledger_;
  const WorkUnitFormat& format_;
  bool is_on_;
};

}  // namespace millrace
