#include "faktory/features/lock_key.hpp"

#include <sodium/crypto_shorthash_siphash24.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/buffer.hpp"
#include "base/limits.hpp"
#include "base/varint.hpp"
#include "faktory/json/canonical_json.hpp"

namespace millrace::faktory {

LockKey lock_key(const LockSecret& secret, std::string_view jobtype, std::string_view args,
                 std::string_view queue) {
  thread_local std::string text;
  text.clear();
  // With their lengths, so that no two of them can be cut in another way.
  append_varint(jobtype.size(), text);
  text += jobtype;
  append_varint(queue.size(), text);
  text += queue;
  append_canonical(args, text);
  static_assert(sizeof secret == crypto_shorthash_siphashx24_KEYBYTES);
  std::array<unsigned char, crypto_shorthash_siphashx24_KEYBYTES> own{};
  std::memcpy(own.data(), &secret, own.size());
  std::array<unsigned char, crypto_shorthash_siphashx24_BYTES> hash{};
  crypto_shorthash_siphashx24(hash.data(), reinterpret_cast<const unsigned char*>(text.data()),
                              text.size(), own.data());
  reset(text, kKeptBufferBytesMax);
  LockKey key;
  std::memcpy(&key.high, hash.data(), sizeof key.high);
  std::memcpy(&key.low, hash.data() + sizeof key.high, sizeof key.low);
  // Zero means that no lock is wanted.
  if (key == LockKey{}) key.low = 1;
  return key;
}

}  // namespace millrace::faktory
