#pragma once

#include <cstddef>
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

}  // namespace millrace
