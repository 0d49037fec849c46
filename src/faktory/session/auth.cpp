#include "faktory/session/auth.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <charconv>

#include "base/check.hpp"
#include "base/text.hpp"

namespace millrace::faktory {

/// One context for all rounds: setting one up costs more than hashing 32 bytes.
class PasswordHash::Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    CHECK(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }

  /// `digest` may be what is hashed.
  void hash(const void* bytes, std::size_t size, std::array<unsigned char, 32>& digest) {
    CHECK(EVP_DigestInit_ex(context_.get(), nullptr, nullptr) == 1);
    CHECK(EVP_DigestUpdate(context_.get(), bytes, size) == 1);
    CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1);
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

PasswordHash::PasswordHash(std::string_view password, const Challenge& challenge)
    // This constructor does the first round.
    : sha_(std::make_unique<Sha256>()), left_(std::max(challenge.iterations, 1u) - 1) {
  // The first round hashes password and salt, all others the digest before.
  const std::string salted = std::string(password) + challenge.salt;
  sha_->hash(salted.data(), salted.size(), digest_);
}

PasswordHash::~PasswordHash() = default;
PasswordHash::PasswordHash(PasswordHash&&) noexcept = default;
PasswordHash& PasswordHash::operator=(PasswordHash&&) noexcept = default;

bool PasswordHash::work(std::uint32_t iterations) {
  for (; iterations > 0 && left_ > 0; --iterations, --left_) {
    sha_->hash(digest_.data(), digest_.size(), digest_);
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
