#pragma once

#include <absl/container/btree_map.h>

#include <cstdint>

#include "base/slab.hpp"
#include "core/model/record.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/live_records.hpp"

namespace millrace {

/// The mutes and notes of errors, by the number of their group. They stay when no job has the error
/// any more.
class ErrorMarks : public LiveRecords<ErrorMarks> {
 public:
  /// Null: nothing was said of it.
  [[nodiscard]] const ErrorMark* find(std::uint64_t group) const;
  [[nodiscard]] std::size_t count() const { return slots_.size(); }
  /// Calls `visit(group, mark)`, in the order of the numbers. It must not change the marks.
  void each(auto&& visit) const {
    for (const auto& [group, slot] : slots_) visit(group, marks_[slot].record.mark);
  }

  // ---- as a live kind ---------------------------------------------------------------------------

  void apply(ErrorMarked&& record);
  /// Of an error without a mark, this does nothing.
  void apply(ErrorUnmarked&& record);
  [[nodiscard]] static std::size_t memory_bytes() { return 0; }
  static constexpr AtFlush kAtFlush = AtFlush::kStay;

 private:
  friend LiveRecords;
  struct Stored {
    ErrorMarked record;
    LogNode log;
  };

  [[nodiscard]] LogNode& node_of(Slot slot) { return marks_[slot].log; }
  [[nodiscard]] const ErrorMarked& record_in(Slot slot) const { return marks_[slot].record; }

  Slab<Stored> marks_;
  absl::btree_map<std::uint64_t, Slot> slots_;
};

}  // namespace millrace
