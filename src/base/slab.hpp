#pragma once

#include <absl/container/btree_set.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "base/check.hpp"

namespace millrace {

/// Objects in chunks, named by a small number. They never move, growing copies nothing, and of the
/// free slots the lowest chunk's are used first, so that what is in use draws together at the
/// beginning. A chunk without objects gives its memory back.
template <typename T>
class Slab {
 public:
  using Slot = std::uint32_t;

  [[nodiscard]] Slot allocate() {
    const std::size_t number = roomy_.empty() ? chunks_.size() : *roomy_.begin();
    Chunk& chunk = open(number);
    const std::size_t place = chunk.take();
    if (chunk.used == kChunk) roomy_.erase(number);
    ++used_;
    return static_cast<Slot>(number * kChunk + place);
  }

  /// The object becomes as good as new.
  void free(Slot slot) {
    const std::size_t number = slot / kChunk;
    Chunk& chunk = chunks_[number];
    const bool was_full = chunk.used == kChunk;
    chunk.give_back(slot % kChunk);
    --used_;
    if (was_full) make_roomy(number);
    if (number != *roomy_.begin()) close_if_empty(number);
  }

  /// Of a slot in use.
  T& operator[](Slot slot) { return (*chunks_[slot / kChunk].objects)[slot % kChunk]; }
  const T& operator[](Slot slot) const { return (*chunks_[slot / kChunk].objects)[slot % kChunk]; }

  /// Null when the slot is free.
  [[nodiscard]] const T* find(Slot slot) const {
    const std::size_t number = slot / kChunk;
    if (number >= chunks_.size() || chunks_[number].is_free(slot % kChunk)) return nullptr;
    return &(*this)[slot];
  }

  /// Whether the slot's chunk takes memory. For tests.
  [[nodiscard]] bool has_memory(Slot slot) const {
    return slot / kChunk < chunks_.size() && chunks_[slot / kChunk].objects != nullptr;
  }

  /// Every slot in use is below this.
  [[nodiscard]] Slot end() const {
    if (chunks_.empty()) return 0;
    return static_cast<Slot>((chunks_.size() - 1) * kChunk + chunks_.back().end());
  }
  [[nodiscard]] std::size_t size() const { return used_; }

 private:
  static constexpr std::size_t kChunk = 512;
  static constexpr std::size_t kWordBits = 64;
  static constexpr std::size_t kForgottenMax = 16;

  /// The objects lie apart: their size is one of the allocator's, with nothing left over.
  struct Chunk {
    std::unique_ptr<std::array<T, kChunk>> objects;         ///< null: given back
    std::array<std::uint64_t, kChunk / kWordBits> taken{};  ///< a bit for each object
    std::size_t used = 0;

    std::size_t take() {
      std::size_t word = 0;
      while (taken[word] == UINT64_MAX) ++word;
      const auto bit = static_cast<std::size_t>(std::countr_one(taken[word]));
      taken[word] |= std::uint64_t{1} << bit;
      ++used;
      return word * kWordBits + bit;
    }
    void give_back(std::size_t place) {
      (*objects)[place] = T{};
      taken[place / kWordBits] &= ~(std::uint64_t{1} << place % kWordBits);
      --used;
    }
    [[nodiscard]] std::size_t end() const {
      std::size_t word = taken.size();
      while (word > 0 && taken[word - 1] == 0) --word;
      if (word == 0) return 0;
      return word * kWordBits - static_cast<std::size_t>(std::countl_zero(taken[word - 1]));
    }
    [[nodiscard]] bool is_free(std::size_t place) const {
      return (taken[place / kWordBits] >> place % kWordBits & 1) == 0;
    }
  };

  Chunk& open(std::size_t number) {
    if (number == chunks_.size()) {
      CHECK(number < UINT32_MAX / kChunk);
      chunks_.emplace_back();
      roomy_.insert(number);
    }
    Chunk& chunk = chunks_[number];
    if (!chunk.objects) chunk.objects = std::make_unique<std::array<T, kChunk>>();
    return chunk;
  }

  // The lowest chunk with a free slot stays open though it be empty, so that a few objects that
  // come and go do not open and close it each time.

  void make_roomy(std::size_t number) {
    const auto place = roomy_.insert(number).first;
    if (place != roomy_.begin()) return;
    if (const auto former = std::next(place); former != roomy_.end()) close_if_empty(*former);
  }

  /// Of those at the end a few are forgotten at a time: when the last object of ten million is
  /// removed there may be twenty thousand.
  void close_if_empty(std::size_t number) {
    if (chunks_[number].used > 0) return;
    chunks_[number].objects.reset();
    for (std::size_t i = 0; i < kForgottenMax && !chunks_.back().objects; ++i) {
      roomy_.erase(chunks_.size() - 1);
      chunks_.pop_back();
      if (chunks_.empty()) return;
    }
  }

  std::vector<Chunk> chunks_;
  absl::btree_set<std::size_t> roomy_;  ///< chunks with a free slot, given back or not
  std::size_t used_ = 0;
};

}  // namespace millrace
