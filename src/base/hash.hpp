#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

/// FNV-1a with 64 bits: the same in every process and version, for what clients may keep (ETags,
/// links). Anybody can find texts that collide, so it is not for tables.
class Fnv1a {
 public:
  constexpr void add(unsigned char byte) { hash_ = (hash_ ^ byte) * kPrime; }
  constexpr void add(std::string_view text) {
    for (const char c : text) add(static_cast<unsigned char>(c));
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return hash_; }

 private:
  static constexpr std::uint64_t kOffset = 14695981039346656037u;
  static constexpr std::uint64_t kPrime = 1099511628211u;

  std::uint64_t hash_ = kOffset;
};

}  // namespace millrace
