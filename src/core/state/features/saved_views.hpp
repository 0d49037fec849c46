#pragma once

#include <absl/container/btree_map.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/slab.hpp"
#include "core/model/record.hpp"
#include "core/state/live_kind.hpp"
#include "core/state/live_records.hpp"

namespace millrace {

/// Searches of jobs that people have saved, by name.
class SavedViews : public LiveRecords<SavedViews> {
 public:
  static constexpr std::size_t kCountMax = 100;

  /// Its query; empty: there is no such view.
  [[nodiscard]] std::string_view find(std::string_view name) const;
  [[nodiscard]] std::size_t count() const { return slots_.size(); }
  /// Calls `visit(view)` for each `ViewSaved`, in the order of the names. It must not change them.
  void each(auto&& visit) const {
    for (const auto& [name, slot] : slots_) visit(views_[slot].record);
  }

  // ---- as a live kind ---------------------------------------------------------------------------

  void apply(ViewSaved&& record);
  [[nodiscard]] static std::size_t memory_bytes() { return 0; }
  static constexpr AtFlush kAtFlush = AtFlush::kStay;

 private:
  friend LiveRecords;
  struct Stored {
    ViewSaved record;
    LogNode log;
  };

  [[nodiscard]] LogNode& node_of(Slot slot) { return views_[slot].log; }
  [[nodiscard]] const ViewSaved& record_in(Slot slot) const { return views_[slot].record; }

  Slab<Stored> views_;
  absl::btree_map<std::string, Slot, std::less<>> slots_;
};

}  // namespace millrace
