#include "faktory/auth.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>
#include <charconv>
#include <memory>
#include <string>

#include "core/check.hpp"

namespace millrace::faktory {
namespace {

constexpr std::size_t kDigestBytes = 32;
using Digest = std::array<unsigned char, kDigestBytes>;

std::string hex(const Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

/// One context for all rounds: setting one up costs more than hashing 32 bytes.
class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    CHECK(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }

  Digest hash(const void* bytes, std::size_t size) {
    Digest digest;
    CHECK(EVP_DigestInit_ex(context_.get(), nullptr, nullptr) == 1);
    CHECK(EVP_DigestUpdate(context_.get(), bytes, size) == 1);
    CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1);
    return digest;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

Challenge make_challenge(const std::function<std::uint64_t()>& random) {
  Challenge challenge;
  challenge.iterations = kIterationsMin + static_cast<std::uint32_t>(random() % kIterationsSpread);
  std::array<char, 16> text;
  const auto [end, error] = std::to_chars(text.begin(), text.end(), random() >> 1, 16);
  CHECK(error == std::errc{});
  challenge.salt.assign(text.data(), end);
  return challenge;
}

std::string password_hash(std::string_view password, const Challenge& challenge) {
  Sha256 sha;
  const std::string salted = std::string(password) + challenge.salt;
  Digest digest = sha.hash(salted.data(), salted.size());
  for (std::uint32_t i = 1; i < challenge.iterations; ++i) {
    digest = sha.hash(digest.data(), digest.size());
  }
  return hex(digest);
}

bool is_same_hash(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace millrace::faktory
