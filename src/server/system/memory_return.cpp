#include "server/system/memory_return.hpp"

#include <cstddef>

// glibc's allocator keeps freed memory that is below any block in use: a server that once held ten
// million jobs would stay that large for ever. Returning it with malloc_trim stops all clients for
// the whole time. jemalloc returns memory in small steps, a tenth of a second after it was freed,
// during allocations and frees. Its background thread would return much at once and occupy a core:
// clients then wait 7 to 12 ms in a FLUSH of ten million jobs, compared with 2 to 4 ms this way
// (`./dev bench bystander`).
extern "C" {
extern const char* const malloc_conf;
const char* const malloc_conf =
    "background_thread:false,dirty_decay_ms:100,muzzy_decay_ms:0,narenas:2";

/// jemalloc's function; null if the program has another allocator.
__attribute__((weak)) int mallctl(const char* name, void* old_value, std::size_t* old_bytes,
                                  void* new_value, std::size_t new_bytes);
}

namespace millrace::server {
namespace {

constexpr Duration kPause = 1s;

/// Returns the memory that is due, of all arenas (MALLCTL_ARENAS_ALL).
constexpr const char* kDecay = "arena.4096.decay";

}  // namespace

MemoryReturn::MemoryReturn(Ticker& ticker, Time now) : ticker_(ticker) {
  if (mallctl != nullptr) ticker_.plan(*this, now + kPause);
}

void MemoryReturn::expire(Time now) {
  (void)mallctl(kDecay, nullptr, nullptr, nullptr, 0);
  ticker_.plan(*this, now + kPause);
}

}  // namespace millrace::server
