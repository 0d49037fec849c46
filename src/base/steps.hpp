#pragma once

#include <algorithm>
#include <cstddef>

namespace millrace {

/// How much work may still be done in one go. The work counts its steps, each of which takes a few
/// nanoseconds, and stops when they are used up.
class Steps {
 public:
  explicit Steps(std::size_t count) : left_(count) {}

  void use_up(std::size_t count) { left_ -= std::min(count, left_); }
  [[nodiscard]] bool are_used_up() const { return left_ == 0; }
  [[nodiscard]] std::size_t left() const { return left_; }

 private:
  std::size_t left_;
};

}  // namespace millrace
