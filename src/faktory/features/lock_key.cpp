#include "faktory/features/lock_key.hpp"

#include <cstring>
#include <string>

#include "faktory/json/canonical_json.hpp"
#include "faktory/sha256.hpp"

namespace millrace::faktory {

LockKey lock_key(std::string_view jobtype, std::string_view args, std::string_view queue) {
  std::string text;
  text.reserve(jobtype.size() + queue.size() + args.size() + 32);
  // With their lengths, so that no two of them can be cut in another way.
  text += std::to_string(jobtype.size());
  text += ':';
  text += jobtype;
  text += std::to_string(queue.size());
  text += ':';
  text += queue;
  append_canonical(args, text);
  thread_local Sha256 sha;
  Sha256Digest digest{};
  sha.hash(text.data(), text.size(), digest);
  LockKey key;
  std::memcpy(&key.high, digest.data(), sizeof key.high);
  std::memcpy(&key.low, digest.data() + sizeof key.high, sizeof key.low);
  // Zero means that no lock is wanted.
  if (key == LockKey{}) key.low = 1;
  return key;
}

}  // namespace millrace::faktory
