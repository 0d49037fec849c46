#pragma once

#include <compare>
#include <cstdint>

namespace millrace {

/// The name of a push: a hash of all by which one that is sent again is known, by the log's
/// `LockSecret`. With a hash that anybody can compute, one client could make the server drop the
/// jobs of another.
struct PushKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  auto operator<=>(const PushKey&) const = default;
};

}  // namespace millrace
