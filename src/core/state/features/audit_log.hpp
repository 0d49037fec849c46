#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/slab.hpp"
#include "core/model/record.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/live_records.hpp"

namespace millrace {

/// The last changes that people and administrators made or tried to make, each with the number by
/// which it came. Which are kept follows from the records' numbers alone, in whatever order they
/// come: so no record says that one is dropped.
class AuditLog : public LiveRecords<AuditLog> {
 public:
  static constexpr std::size_t kChangesMax = 10'000;
  /// Of them: so whoever guesses passwords displaces no change that was made.
  static constexpr std::size_t kRefusedMax = 1000;

  using Number = std::uint64_t;
  using Visitor = std::function<bool(Number, const Change&)>;

  /// Null: it is not kept any more.
  [[nodiscard]] const Change* find(Number number) const;
  [[nodiscard]] std::size_t size() const { return places_.size(); }

  /// Visits those before that number, the latest first, until `visit` answers false.
  void each_before(Number number, const Visitor& visit) const;
  /// The same for those with that target. It looks at all, 20 µs for 10,000.
  void each_of(std::string_view target, const Visitor& visit) const;
  /// The number of the next one, and the one for `each_before` to begin with the latest.
  [[nodiscard]] Number end() const { return places_.empty() ? 1 : places_.rbegin()->first + 1; }

  // ---- as a live kind ---------------------------------------------------------------------------

  void apply(ChangeNoted&& record);
  [[nodiscard]] static std::size_t memory_bytes() { return 0; }
  static constexpr AtFlush kAtFlush = AtFlush::kStay;

 private:
  friend LiveRecords;
  struct Stored {
    ChangeNoted record;
    LogNode log;
  };
  struct Place {
    Slot slot = 0;
    std::uint32_t target_hash = 0;  ///< so that `each_of` looks at few changes
  };

  [[nodiscard]] LogNode& node_of(Slot slot) { return changes_[slot].log; }
  [[nodiscard]] const ChangeNoted& record_in(Slot slot) const { return changes_[slot].record; }
  void drop(Number number);

  Slab<Stored> changes_;
  absl::btree_map<Number, Place> places_;
  absl::btree_set<Number> refused_;
};

}  // namespace millrace
