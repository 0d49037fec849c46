#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "faktory/session/sha256.hpp"

namespace millrace::faktory {

/// What HI asks of a client when the server has a password.
struct Challenge {
  std::uint32_t iterations = 1;
  std::string salt;
};

/// Iterations are in [kIterationsMin, kIterationsMin + kIterationsSpread).
inline constexpr std::uint32_t kIterationsMin = 4000;
inline constexpr std::uint32_t kIterationsSpread = 4096;

/// A new challenge. The salt is 63 random bits in lower-case hexadecimal, not padded, as the
/// reference writes it.
[[nodiscard]] Challenge make_challenge(const std::function<std::uint64_t()>& random);

/// SHA-256 of password and salt, hashed again until `iterations` hashes were made. It is made in
/// slices, since a whole one takes a millisecond or two.
class PasswordHash {
 public:
  PasswordHash(std::string_view password, const Challenge& challenge);

  /// Makes up to `iterations` further hashes. True: that was all of them.
  bool work(std::uint32_t iterations);

  /// In lower-case hexadecimal. Call it only when `work` has said true.
  [[nodiscard]] std::string text() const;

 private:
  Sha256 sha_;
  Sha256Digest digest_;
  std::uint32_t left_;
};

/// Takes the same time wherever the two differ, so that the time tells nothing about the password.
[[nodiscard]] bool is_same_hash(std::string_view a, std::string_view b);

}  // namespace millrace::faktory
