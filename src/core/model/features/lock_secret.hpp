#pragma once

#include <compare>
#include <cstdint>

namespace millrace {

/// The key of the hash that names locks (`LockKey`): drawn once for a log, and kept in it. Whoever
/// does not know it cannot choose arguments whose locks are one, and so hold up jobs of others.
struct LockSecret {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  bool operator==(const LockSecret&) const = default;
};

/// 128 bits of the hash by that key: a name for a lock, or for a push.
struct KeyedHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  auto operator<=>(const KeyedHash&) const = default;
};

}  // namespace millrace
