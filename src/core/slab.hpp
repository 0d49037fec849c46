#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/check.hpp"

namespace millrace {

/// Objects in chunks, named by a small number. They never move, growing copies nothing, and a freed
/// slot is used again before a new one is made.
template <typename T>
class Slab {
 public:
  using Slot = std::uint32_t;

  [[nodiscard]] Slot allocate() {
    ++used_;
    if (!free_.empty()) {
      const Slot slot = free_.back();
      free_.pop_back();
      return slot;
    }
    CHECK(end_ < UINT32_MAX);
    if (end_ % kChunk == 0) chunks_.push_back(std::make_unique<std::array<T, kChunk>>());
    return end_++;
  }

  /// The object becomes as good as new.
  void free(Slot slot) {
    (*this)[slot] = T{};
    free_.push_back(slot);
    --used_;
  }

  T& operator[](Slot slot) { return (*chunks_[slot / kChunk])[slot % kChunk]; }
  const T& operator[](Slot slot) const { return (*chunks_[slot / kChunk])[slot % kChunk]; }

  /// Every slot in use is below this.
  [[nodiscard]] Slot end() const { return end_; }
  [[nodiscard]] std::size_t size() const { return used_; }

 private:
  static constexpr Slot kChunk = 512;

  std::vector<std::unique_ptr<std::array<T, kChunk>>> chunks_;
  std::deque<Slot> free_;  // not a vector: one of ten million would be copied in a single step
  Slot end_ = 0;
  std::size_t used_ = 0;
};

}  // namespace millrace
