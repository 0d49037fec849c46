#include "faktory/features/lock_key.hpp"

#include <sodium/crypto_shorthash_siphash24.h>

#include <array>
#include <cstring>
#include <string>

#include "base/buffer.hpp"
#include "base/limits.hpp"
#include "base/varint.hpp"
#include "faktory/json/canonical_json.hpp"

namespace millrace::faktory {
namespace {

/// With its length, so that no two texts can be cut in another way. Answers where it ends.
char* write_text(std::string_view text, char* to) {
  to = write_varint(text.size(), to);
  if (!text.empty()) std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

}  // namespace

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

LockKey lock_key(const LockSecret& secret, std::string_view jobtype, std::string_view args,
                 std::string_view queue) {
  thread_local std::string text;
  text.resize(jobtype.size() + queue.size() + 2 * kVarintBytesMax);
  const char* const end = write_text(queue, write_text(jobtype, text.data()));
  text.resize(static_cast<std::size_t>(end - text.data()));
  append_canonical(args, text);
  LockKey key = keyed_hash(secret, text);
  reset(text, kKeptBufferBytesMax);
  // Zero means that no lock is wanted.
  if (key == LockKey{}) key.low = 1;
  return key;
}

}  // namespace millrace::faktory
