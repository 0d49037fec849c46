#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/check.hpp"

namespace millrace {

/// Why something outside (a file, an address, an option) could not be used: one line for a person.
struct Problem {
  std::string text;
  /// It would be none if the disk had more room, or the process more descriptors: both are waited
  /// for.
  bool is_out_of_space = false;
  /// Another server did not answer, or was not ready: it may be none when it is tried again later.
  bool is_passing = false;
};

/// A value, or the reason why there is none. Test before use: `value()` of an error is our own bug.
template <typename T, typename E>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: meant to convert
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: meant to convert

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() {
    CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  const T& value() const {
    CHECK(has_value());
    return *std::get_if<0>(&state_);
  }
  const E& error() const {
    CHECK(!has_value());
    return *std::get_if<1>(&state_);
  }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, E> state_;
};

/// The value of an operation that has none.
struct Done {};

/// What start-up, files and options answer.
template <typename T>
using Outcome = Result<T, Problem>;

}  // namespace millrace
