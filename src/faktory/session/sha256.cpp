#include "faktory/session/sha256.hpp"

#include <openssl/evp.h>

#include "base/check.hpp"

namespace millrace::faktory {

void Sha256::Free::operator()(EVP_MD_CTX* context) const {
  EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  CHECK(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void Sha256::hash(const void* bytes, std::size_t size, Sha256Digest& digest) {
  CHECK(EVP_DigestInit_ex(context_.get(), nullptr, nullptr) == 1);
  CHECK(EVP_DigestUpdate(context_.get(), bytes, size) == 1);
  CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1);
}

}  // namespace millrace::faktory
