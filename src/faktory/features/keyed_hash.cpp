#include "faktory/features/keyed_hash.hpp"

#include <sodium/crypto_shorthash_siphash24.h>

#include <array>
#include <cstring>

namespace millrace::faktory {

KeyedHash keyed_hash(const LockSecret& secret, std::string_view text) {
  static_assert(sizeof secret == crypto_shorthash_siphashx24_KEYBYTES);
  std::array<unsigned char, crypto_shorthash_siphashx24_KEYBYTES> own{};
  std::memcpy(own.data(), &secret, own.size());
  std::array<unsigned char, crypto_shorthash_siphashx24_BYTES> bytes{};
  crypto_shorthash_siphashx24(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()),
                              text.size(), own.data());
  KeyedHash hash;
  std::memcpy(&hash.high, bytes.data(), sizeof hash.high);
  std::memcpy(&hash.low, bytes.data() + sizeof hash.high, sizeof hash.low);
  return hash;
}

}  // namespace millrace::faktory
