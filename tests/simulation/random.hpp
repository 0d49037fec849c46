#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace::simulation {

/// Random numbers of our own, so that a seed means the same on every machine and with every
/// library: SplitMix64 (Steele and others, 2014).
class Random {
 public:
  using result_type = std::uint64_t;

  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t draw() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  /// 0 to `end` - 1. The bias towards small numbers does not matter here.
  std::uint64_t below(std::uint64_t end) { return draw() % end; }

  /// `low` to `high`, both included.
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + below(high - low + 1);
  }

  /// True once in so many times.
  bool one_in(std::uint64_t times) { return below(times) == 0; }

  template <typename T>
  const T& pick(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace millrace::simulation
