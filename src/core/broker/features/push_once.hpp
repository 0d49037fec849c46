#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "core/broker/admission_control.hpp"
#include "core/broker/requests.hpp"
#include "core/ports/work_unit.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// Which pushes are known when they are sent again.
struct PushRules {
  bool is_on = true;        ///< those whose jobs live
  Duration after_end = {};  ///< those whose jobs have ended not longer ago; only where `is_on`

  bool operator==(const PushRules&) const = default;
};

/// Knows a push that is sent again. A client that did not see the answer pushes the same job once
/// more: while the job lives, and for as long after its end as the rules say, that adds nothing.
class PushOnce {
 public:
  static constexpr Duration kAfterEndMax = 30 * 24h;
  /// So many pushes are remembered whose jobs have ended, of which each takes about 90 bytes; then
  /// the one is forgotten whose job ended first.
  static constexpr std::size_t kEndedMax = 1'000'000;

  /// Of many jobs with one jid, the newest are looked at: a client does not wait long before it
  /// pushes again.
  static constexpr std::size_t kNamesakesMax = 16;
  /// Of bodies longer than `WorkUnitFormat::kComparedBytesMax`, one is compared: it may have to be
  /// read from the disk while all clients wait. Their lengths differ by so much at most.
  static constexpr std::size_t kLongBodiesDifferMax = 1024;

  struct Parts {
    Ledger& ledger;
    const AdmissionControl& admission;
    const WorkUnitFormat& format;
  };
  /// All outlive this. `drawn` names pushes where the log has no secret yet.
  PushOnce(const Parts& parts, const PushRules& rules, const LockSecret& drawn)
      : ledger_(parts.ledger),
        admission_(parts.admission),
        format_(parts.format),
        rules_(rules),
        drawn_(drawn) {}

  /// See `WorkUnitFormat::name_hash`.
  [[nodiscard]] std::uint32_t hash_of(const NewJob& job) const {
    return job.kind == JobKind::kWorkUnit ? format_.name_hash(job.body) : 0;
  }
  /// The job that the same push has made: in the same queue and batch, `WorkUnitFormat::is_same`,
  /// and alive, or remembered. It does not count if it is dead or has expired, since it would not
  /// run for this push; nor if `worker` holds it, which puts it back before it is done; nor if
  /// its body cannot be read.
  [[nodiscard]] std::optional<JobId> find(const NewJob& job, std::uint32_t hash,
                                          std::string_view worker, Time now) const;

  // ---- after the end ----------------------------------------------------------------------------

  /// Pushes are remembered beyond the ends of their jobs.
  [[nodiscard]] bool remembers() const { return rules_.is_on && rules_.after_end > Duration{}; }
  /// The pushed job ends, and its push is remembered; not while records must not grow, nor
  /// if its body cannot be read.
  void note_end(const Job& job, Time now);
  /// Forgets at most a slice of the pushes that were remembered for long enough. With other rules
  /// than before a restart, those that are too old by them.
  void forget_due(Time now);
  [[nodiscard]] Time next_due() const;

 private:
  struct Living {
    std::optional<JobId> id = std::nullopt;
    bool is_put_back = false;  ///< the worker holds the job, and pushes it
  };
  [[nodiscard]] Living find_living(const NewJob& job, std::uint32_t hash, std::string_view worker,
                                   Time now) const;
  [[nodiscard]] std::optional<JobId> find_ended(const NewJob& job, Time now) const;
  void forget_oldest();
  [[nodiscard]] bool may_be(const Job& other, const NewJob& job, Time wall) const;

  Ledger& ledger_;
  const AdmissionControl& admission_;
  const WorkUnitFormat& format_;
  const PushRules rules_;
  const LockSecret drawn_;
};

}  // namespace millrace
