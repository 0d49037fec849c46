#include "server/cluster/report_signature.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "base/check.hpp"
#include "base/text.hpp"

namespace millrace::server {

std::string sign_report(std::string_view report, std::string_view password) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  CHECK(HMAC(EVP_sha256(), password.data(), static_cast<int>(password.size()),
             reinterpret_cast<const unsigned char*>(report.data()), report.size(), digest.data(),
             &size) != nullptr);
  return hex_of({reinterpret_cast<const char*>(digest.data()), size});
}

}  // namespace millrace::server
