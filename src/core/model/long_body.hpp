#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/buffer.hpp"
#include "base/check.hpp"

namespace millrace {

/// The body of a job of megabytes, which is filled in steps before the job is put: memory that
/// nobody has used yet takes the system as long as copying to it. The job then has this very
/// memory.
class LongBody {
 public:
  LongBody() = default;
  explicit LongBody(std::size_t bytes) : bytes_(new char[bytes]), size_(bytes) {}

  /// For a length that a client names before it sends the body. nullopt: there is not so much
  /// memory for body and record.
  [[nodiscard]] static std::optional<LongBody> try_make(std::size_t bytes) {
    LongBody made;
    made.size_ = bytes;
    made.bytes_ = try_allocate(bytes);
    if (!made.bytes_ || !try_reserve(made.room_, bytes + kRestBytes)) return std::nullopt;
    return made;
  }

  void append(std::string_view part) {
    CHECK(part.size() <= size_ - filled_);
    std::memcpy(bytes_.get() + filled_, part.data(), part.size());
    filled_ += part.size();
  }

  /// Prepares so much more of the memory for the job's record. False: there is more to prepare.
  [[nodiscard]] bool make_room(std::size_t bytes) {
    const std::size_t all = size_ + kRestBytes;
    if (room_.capacity() < all) room_.reserve(all);
    room_.resize(std::min(all, room_.size() + bytes));
    return room_.size() == all;
  }

  [[nodiscard]] std::size_t missing_bytes() const { return size_ - filled_; }
  [[nodiscard]] std::string_view view() const { return {bytes_.get(), filled_}; }

  /// What has been used of both memories.
  [[nodiscard]] std::size_t memory_bytes() const { return filled_ + room_.size(); }

  /// Where `view` is. The view stays good as long as the result.
  [[nodiscard]] std::unique_ptr<char[]> take_bytes() { return std::move(bytes_); }

  /// An empty string with the room that was made.
  [[nodiscard]] std::string take_room() {
    room_.clear();
    return std::exchange(room_, {});
  }

 private:
  /// For the other parts of the record, and the other records of the turn: see `kBatchBytesPause`.
  static constexpr std::size_t kRestBytes = (std::size_t{1} << 20) + 64 * 1024;

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
  std::size_t filled_ = 0;
  std::string room_;
};

}  // namespace millrace
