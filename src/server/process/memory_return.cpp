#include "server/process/memory_return.hpp"

#include <cstddef>

// glibc's allocator keeps what was freed below anything that is still in use: a server that once
// held ten million jobs would stay as large for ever; and giving it back with malloc_trim stops
// everybody for as long as that takes. jemalloc gives it back in small steps, a tenth of a second
// after it was freed, whenever something is allocated or freed. It could do so from a thread of its
// own, but that one has so much to give back each time that it wakes up, and takes so much of a
// core for it, that clients wait 7 to 12 ms in a FLUSH of ten million jobs, and 2 to 4 like this
// (`./dev bench bystander`).
extern "C" {
extern const char* const malloc_conf;
const char* const malloc_conf =
    "background_thread:false,dirty_decay_ms:100,muzzy_decay_ms:0,narenas:2";

/// jemalloc's; null where the program has another allocator.
__attribute__((weak)) int mallctl(const char* name, void* old_value, std::size_t* old_bytes,
                                  void* new_value, std::size_t new_bytes);
}

namespace millrace::server {
namespace {

constexpr Duration kPause = 1s;

/// Of all arenas (MALLCTL_ARENAS_ALL), as much as is due.
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
