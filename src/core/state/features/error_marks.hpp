#pragma once

#include <absl/container/btree_map.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/slab.hpp"
#include "core/model/record.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/log_order.hpp"

namespace millrace {

/// The mutes and notes of errors, by the number of their group. They stay when no job has the error
/// any more.
class ErrorMarks {
 public:
  ErrorMarks() = default;
  ErrorMarks(const ErrorMarks&) = delete;
  ErrorMarks& operator=(const ErrorMarks&) = delete;

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
  [[nodiscard]] std::optional<Lsn> oldest_place() const { return log_.oldest_place(); }
  void rewrite_oldest(std::string& batch);
  void place(Lsn begin) {
    log_.place(begin, [](Slot) {});
  }
  [[nodiscard]] std::uint64_t live_bytes() const { return record_bytes_; }
  [[nodiscard]] static std::size_t memory_bytes() { return 0; }
  static constexpr AtFlush kAtFlush = AtFlush::kStay;

 private:
  using Slot = std::uint32_t;
  struct Stored {
    ErrorMarked record;
    LogNode log;
  };

  void enter_log(Slot slot);
  /// Before the mark changes: its record's length is counted as it is now.
  void leave_log(Slot slot);

  Slab<Stored> marks_;
  absl::btree_map<std::uint64_t, Slot> slots_;

  struct NodeOf {
    Slab<Stored>* marks;
    LogNode& operator()(Slot slot) const { return (*marks)[slot].log; }
  };
  LogOrder<NodeOf> log_{NodeOf{&marks_}};
  std::uint64_t record_bytes_ = 0;
};

}  // namespace millrace
