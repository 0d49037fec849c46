#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace millrace::server {

/// Values that go from one thread to another together. Those that were cleared keep their buffers
/// for the next ones.
template <typename Value>
class Batch {
 public:
  /// The next value: as it was left when the batch was cleared.
  [[nodiscard]] Value& add() {
    if (size_ == values_.size()) values_.emplace_back();
    return values_[size_++];
  }

  [[nodiscard]] std::span<Value> values() { return std::span(values_).first(size_); }
  [[nodiscard]] bool is_empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  void clear() { size_ = 0; }

  void swap(Batch& other) noexcept {
    values_.swap(other.values_);
    std::swap(size_, other.size_);
  }

 private:
  std::vector<Value> values_;
  std::size_t size_ = 0;
};

/// A queue of values from one thread to another, in order. Bounded by those who post: each
/// connection has a bounded number of values in it.
template <typename Value>
class Mailbox {
 public:
  /// Posts all of `batch`, and leaves it empty. True: it was empty, so that the reader may sleep.
  [[nodiscard]] bool post(Batch<Value>& batch) {
    if (batch.is_empty()) return false;
    const std::lock_guard guard(mutex_);
    const bool was_empty = posted_.is_empty();
    if (was_empty) {
      posted_.swap(batch);
    } else {
      for (Value& value : batch.values()) std::swap(posted_.add(), value);
    }
    batch.clear();
    return was_empty;
  }

  /// Adds what was posted to `into`.
  void take(Batch<Value>& into) {
    const std::lock_guard guard(mutex_);
    if (into.is_empty()) return posted_.swap(into);
    for (Value& value : posted_.values()) std::swap(into.add(), value);
    posted_.clear();
  }

 private:
  std::mutex mutex_;
  Batch<Value> posted_;
};

}  // namespace millrace::server
