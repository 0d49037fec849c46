#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <string>

namespace millrace {

/// Empties the buffer, and frees its memory if it has more than `kept_bytes_max`. A string to which
/// an empty one is assigned would keep it.
inline void reset(std::string& buffer, std::size_t kept_bytes_max) {
  if (buffer.capacity() > kept_bytes_max) {
    std::string{}.swap(buffer);
  } else {
    buffer.clear();
  }
}

/// While it lives, `new` may fail in this thread. Else a lack of memory ends the program, see
/// `end_without_memory` in `server/process`, and no caller has to expect it.
class MayLackMemory {
 public:
  MayLackMemory() { is_on_ = true; }
  ~MayLackMemory() { is_on_ = false; }
  MayLackMemory(const MayLackMemory&) = delete;
  MayLackMemory& operator=(const MayLackMemory&) = delete;

  [[nodiscard]] static bool is_on() { return is_on_; }

 private:
  static inline thread_local bool is_on_ = false;
};

/// Memory of a length that a client names before it has sent so much. Null: there is not so much.
[[nodiscard]] inline std::unique_ptr<char[]> try_allocate(std::size_t bytes) {
  const MayLackMemory may_lack_memory;
  return std::unique_ptr<char[]>(new (std::nothrow) char[bytes]);
}

/// The same for the capacity of a buffer. False: it stays as it is.
[[nodiscard]] inline bool try_reserve(std::string& buffer, std::size_t bytes) {
  if (bytes > buffer.max_size()) return false;
  const MayLackMemory may_lack_memory;
  try {
    buffer.reserve(bytes);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace millrace
