#pragma once

#include <absl/container/btree_map.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "core/broker/admission_control.hpp"
#include "core/model/features/change.hpp"
#include "core/model/types.hpp"
#include "core/state/features/audit_log.hpp"
#include "core/state/ledger.hpp"

namespace millrace {

/// Notes who changed what: so that a team finds out who emptied the queue. Each change is a record,
/// so the answer to whoever made it waits until it is durable.
class Activity {
 public:
  using Number = AuditLog::Number;

  /// So many kinds of attempts within a minute have an entry each. Further ones share one for each
  /// user, and one for all addresses.
  static constexpr std::size_t kRefusedApartMax = 64;
  static constexpr const char* kManyAddresses = "many addresses";
  static constexpr const char* kManyActions = "many";
  /// The names that an address has tried besides the first, in bytes.
  static constexpr std::size_t kTriedNamesMax = 120;

  /// Both outlive this.
  Activity(Ledger& ledger, const AdmissionControl& admission)
      : ledger_(ledger), admission_(admission) {}
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  /// `operation` is that of `BulkChanges` which makes it; 0: none.
  Number note(Change change, std::uint64_t operation = 0);

  /// How many jobs it has changed in the end. A change that is not kept any more is left out.
  void finish(Number number, std::uint64_t changed);
  void finish_operation(std::uint64_t operation, std::uint64_t changed);
  /// 0: no operation makes it now.
  [[nodiscard]] std::uint64_t operation_of(Number number) const;

  /// An attempt was refused. All with one action within a minute are one entry, which counts them
  /// when the minute is over: those of `peer`, an address that no client chooses, or where that is
  /// empty those of the change's user, who has logged in. Where no jobs are admitted, none is made.
  void refuse(Change change, const std::string& peer);

  /// `watch` is given each record from now on; empty: nobody is. It only reads.
  using Watch = std::function<void(Number, const Change&)>;
  void watch(Watch watch) { watch_ = std::move(watch); }

  void work(Time now);
  /// The server stops: what was not counted yet is counted now.
  void count_refused() { work(kNever); }
  [[nodiscard]] Time next_due() const { return next_due_; }

  [[nodiscard]] const AuditLog& log() const { return ledger_.store().audit_log(); }

 private:
  using Operations = absl::btree_map<std::uint64_t, Number>;
  struct Attempts {
    Number number = 0;
    Time since{};
    std::uint64_t count = 0;
    std::string names = {};  ///< that were tried after the first: `, name` each
  };

  void write(Number number, Change change);
  void add_name(Attempts& attempts, const std::string& name);

  Ledger& ledger_;
  const AdmissionControl& admission_;
  Operations operations_;  ///< those that have not ended
  /// By address or user, and action: those of the last minute.
  absl::btree_map<std::pair<std::string, std::string>, Attempts> attempts_;
  Time next_due_ = kNever;
  Watch watch_;
};

}  // namespace millrace
