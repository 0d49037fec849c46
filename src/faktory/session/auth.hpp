#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
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

/// SHA-256 of password and salt, hashed again until `iterations` hashes were made. It is made piece
/// by piece, since a whole one takes a millisecond or two.
class PasswordHash {
 public:
  PasswordHash(std::string_view password, const Challenge& challenge);
  ~PasswordHash();
  PasswordHash(PasswordHash&&) noexcept;
  PasswordHash& operator=(PasswordHash&&) noexcept;

  /// Makes up to so many further hashes. True when none is left to make.
  bool work(std::uint32_t iterations);

  /// In lower-case hex. Only when no hash is left to make.
  [[nodiscard]] std::string text() const;

 private:
  class Sha256;
  std::unique_ptr<Sha256> sha_;
  std::array<unsigned char, 32> digest_;
  std::uint32_t left_;
};

/// All of it at once.
[[nodiscard]] std::string password_hash(std::string_view password, const Challenge& challenge);

/// Takes the same time wherever they differ.
[[nodiscard]] bool is_same_hash(std::string_view a, std::string_view b);

}  // namespace millrace::faktory
