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
/// nobody has used yet takes the system as long as copying to it. Twice: the job then has the one
/// memory, and the batch with its record the other.
class LongBody {
 public:
  /// What a batch can hold before the body: the records so far, and the head of this one. With more
  /// of them the body is copied once more. It is used by every client that sends a long body.
  static constexpr std::size_t kFrontBytes = 64 * 1024;

  LongBody() = default;
  /// Filled.
  explicit LongBody(std::string_view body) : LongBody(body.size(), new char[body.size()], {}) {
    record_.reserve(record_bytes(body.size()));
    append(body);
  }

  /// For a length that a client names before it sends the body. nullopt: there is not so much
  /// memory for body and record.
  [[nodiscard]] static std::optional<LongBody> try_make(std::size_t bytes) {
    std::string record;
    std::unique_ptr<char[]> memory = try_allocate(bytes);
    if (!memory || !try_reserve(record, record_bytes(bytes))) return std::nullopt;
    return LongBody(bytes, memory.release(), std::move(record));
  }

  void append(std::string_view part) {
    CHECK(part.size() <= missing_bytes());
    if (record_.empty()) record_.resize(kFrontBytes);
    std::memcpy(bytes_.get() + filled_bytes(), part.data(), part.size());
    record_ += part;
  }

  [[nodiscard]] std::size_t missing_bytes() const { return size_ - filled_bytes(); }
  [[nodiscard]] std::string_view view() const { return {bytes_.get(), filled_bytes()}; }

  /// What has been used of both memories.
  [[nodiscard]] std::size_t memory_bytes() const { return filled_bytes() + record_.size(); }

  /// Where `view` is. The view stays good as long as the result.
  [[nodiscard]] std::unique_ptr<char[]> take_bytes() { return std::move(bytes_); }

  /// `kFrontBytes` that are free, and the same body. To be called last.
  [[nodiscard]] std::string take_record() { return std::exchange(record_, {}); }

 private:
  /// With room for the other records of the turn: see `kBatchBytesPause`.
  static constexpr std::size_t record_bytes(std::size_t body_bytes) {
    return kFrontBytes + body_bytes + (std::size_t{1} << 20) + kFrontBytes;
  }

  LongBody(std::size_t bytes, char* memory, std::string record)
      : bytes_(memory), size_(bytes), record_(std::move(record)) {}

  [[nodiscard]] std::size_t filled_bytes() const {
    return record_.size() - std::min(record_.size(), kFrontBytes);
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
  std::string record_;
};

}  // namespace millrace
