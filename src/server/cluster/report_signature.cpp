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

ReportKey::ReportKey(std::string_view password) {
  if (password.empty()) return;
  CHECK(EVP_PBE_scrypt(password.data(), password.size(),
                       reinterpret_cast<const unsigned char*>(kSalt.data()), kSalt.size(), kCost,
                       kBlocks, 1, kMemoryMax, key_.data(), key_.size()) == 1);
}

std::string ReportKey::sign(std::string_view report) const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  CHECK(HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
             reinterpret_cast<const unsigned char*>(report.data()), report.size(), digest.data(),
             &size) != nullptr);
  return std::string(kForm) + hex_of({reinterpret_cast<const char*>(digest.data()), size});
}

}  // namespace millrace::server
