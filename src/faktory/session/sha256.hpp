#pragma once

#include <openssl/types.h>

#include <array>
#include <cstddef>
#include <memory>

namespace millrace::faktory {

using Sha256Digest = std::array<unsigned char, 32>;

/// SHA-256 of one text after another, with one context for all: to set one up costs more than to
/// hash 200 bytes.
class Sha256 {
 public:
  Sha256();

  /// `digest` may be what is hashed.
  void hash(const void* bytes, std::size_t size, Sha256Digest& digest);

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const;
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

}  // namespace millrace::faktory
