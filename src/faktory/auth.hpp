#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace millrace::faktory {

/// What HI asks of a client when the server has a password.
struct Challenge {
  std::uint32_t iterations = 1;
  std::string salt;
};

/// Iterations are in [kIterationsMin, kIterationsMin + kIterationsSpread).
inline constexpr std::uint32_t kIterationsMin = 4000;
inline constexpr std::uint32_t kIterationsSpread = 4096;

/// A fresh one. The salt is 63 random bits in lower-case hex, not padded.
[[nodiscard]] Challenge make_challenge(const std::function<std::uint64_t()>& random);

/// SHA-256 of password and salt, hashed again until `iterations` hashes were made, in lower-case
/// hex. One hash is always made.
[[nodiscard]] std::string password_hash(std::string_view password, const Challenge& challenge);

/// Takes the same time wherever they differ.
[[nodiscard]] bool is_same_hash(std::string_view a, std::string_view b);

}  // namespace millrace::faktory
