#include "faktory/features/lock_key.hpp"

#include <cstring>
#include <string>

#include "base/buffer.hpp"
#include "base/limits.hpp"
#include "base/varint.hpp"
#include "faktory/features/keyed_hash.hpp"
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
