#include "faktory/session/auth.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <charconv>

#include "base/check.hpp"
#include "base/text.hpp"

namespace millrace::faktory {

PasswordHash::PasswordHash(std::string_view password, const Challenge& challenge)
    // This constructor does the first round.
    : left_(std::max(challenge.iterations, 1u) - 1) {
  // The first round hashes password and salt, all others the digest before.
  const std::string salted = std::string(password) + challenge.salt;
  sha_.hash(salted.data(), salted.size(), digest_);
}

bool PasswordHash::work(std::uint32_t iterations) {
  for (; iterations > 0 && left_ > 0; --iterations, --left_) {
    sha_.hash(digest_.data(), digest_.size(), digest_);
  }
  return left_ == 0;
}

std::string PasswordHash::text() const {
  CHECK(left_ == 0);
  return hex_of({reinterpret_cast<const char*>(digest_.data()), digest_.size()});
}

Challenge make_challenge(const std::function<std::uint64_t()>& random) {
  Challenge challenge;
  // Random, as in the reference: a table of hashes for one number would not serve.
  challenge.iterations = kIterationsMin + static_cast<std::uint32_t>(random() % kIterationsSpread);
  std::array<char, 16> text;
  const auto [end, error] = std::to_chars(text.begin(), text.end(), random() >> 1, 16);
  CHECK(error == std::errc{});
  challenge.salt.assign(text.data(), end);
  return challenge;
}

bool is_same_hash(std::string_view a, std::string_view b) {
  // In a time that does not depend on the bytes, so that nobody can guess them one by one.
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace millrace::faktory
