#pragma once

#include <memory>
#include <utility>

#include "base/check.hpp"

namespace millrace {

/// An optional value that is kept apart: without one it takes eight bytes. A copy has a value of
/// its own, and two boxes are equal when both are empty or their values are equal.
template <typename T>
class Box {
 public:
  Box() = default;
  Box(T value) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT: meant to convert
  Box(const Box& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Box(Box&&) noexcept = default;
  Box& operator=(const Box& other) {
    Box copy(other);
    value_ = std::move(copy.value_);
    return *this;
  }
  Box& operator=(Box&&) noexcept = default;
  ~Box() = default;

  explicit operator bool() const { return value_ != nullptr; }

  /// A new value, the old one's place being taken.
  T& emplace() {
    value_ = std::make_unique<T>();
    return *value_;
  }
  void reset() { value_.reset(); }

  T& operator*() {
    CHECK(value_ != nullptr);
    return *value_;
  }
  const T& operator*() const {
    CHECK(value_ != nullptr);
    return *value_;
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

  /// Null when it is empty.
  [[nodiscard]] T* get() { return value_.get(); }
  [[nodiscard]] const T* get() const { return value_.get(); }

  friend bool operator==(const Box& a, const Box& b) {
    return a.value_ && b.value_ ? *a.value_ == *b.value_ : a.value_ == b.value_;
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace millrace
