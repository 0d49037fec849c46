#include "server/cluster/report_signature.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <cstdint>

#include "base/check.hpp"
#include "base/text.hpp"

namespace millrace::server {
namespace {

/// Keeps the key apart from all else that is made of a password. All nodes have the same.
constexpr std::string_view kSalt = "millrace node report 2";
constexpr std::uint64_t kCost = 32 * 1024;
constexpr std::uint64_t kBlocks = 8;
constexpr std::uint64_t kMemoryMax = 64 * 1024 * 1024;
constexpr std::string_view kForm = "2:";

}  // namespace

std::string hmac_of(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
             &size) != nullptr);
  return hex_of({reinterpret_cast<const char*>(digest.data()), size});
}

ReportKey::ReportKey(std::string_view password) {
  if (password.empty()) return;
  CHECK(EVP_PBE_scrypt(password.data(), password.size(),
                       reinterpret_cast<const unsigned char*>(kSalt.data()), kSalt.size(), kCost,
                       kBlocks, 1, kMemoryMax, key_.data(), key_.size()) == 1);
}

std::string ReportKey::sign(std::string_view report) const {
  const std::string_view key(reinterpret_cast<const char*>(key_.data()), key_.size());
  return std::string(kForm) + hmac_of(key, report);
}

}  // namespace millrace::server
