#pragma once

#include <cstddef>
#include <cstdint>

#include "core/model/refusal.hpp"
#include "core/ports/journal.hpp"
#include "core/state/store.hpp"

namespace millrace {

/// How much memory the live kinds take (`core/state/live_kind.hpp`), and how much they may. Sizes
/// are in bytes, and estimates.
class JobMemory {
 public:
  explicit JobMemory(Store& store) : store_(store) {}

  /// From now on the bodies that would not fit into `bytes_max` together with everything else are
  /// in the log only. `journal` is read for them and outlives the store.
  void limit(Journal& journal, std::size_t bytes_max);
  /// The same limit where no log keeps the bodies: they count in full.
  void limit(std::size_t bytes_max);

  /// SIZE_MAX: there is no limit.
  [[nodiscard]] std::size_t bytes_max() const { return bytes_max_; }
  /// Taken now.
  [[nodiscard]] std::size_t bytes() const { return store_.memory_bytes(); }
  /// Of these, the bytes that must stay in memory: bodies that the log keeps do not count.
  [[nodiscard]] std::size_t needed_bytes() const;

  /// True when `needed_bytes` has reached the limit. While `admission` refuses jobs the limit is a
  /// sixteenth lower.
  [[nodiscard]] bool is_full(Admission admission) const;

 private:
  Store& store_;
  std::size_t bytes_max_ = SIZE_MAX;
  bool spills_ = false;
};

}  // namespace millrace
