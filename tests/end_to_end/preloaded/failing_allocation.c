// Preloaded, the allocation by `new` fails that a test chooses, in whatever thread. The file
// ALLOCATIONS has a number of 8 bytes: so many allocations from now on, the last of them fails. 0:
// none does. The test reads there how many are left.

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int64_t* left;

// std::get_new_handler, and what `new` does where there is no handler.
extern void (*_ZSt15get_new_handlerv(void))(void);
extern void _ZSt17__throw_bad_allocv(void) __attribute__((noreturn));

__attribute__((constructor)) static void begin(void) {
  const char* path = getenv("ALLOCATIONS");
  int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  left = mmap(0, sizeof *left, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
}

static void count(void) {
  if (!left || __atomic_load_n(left, __ATOMIC_RELAXED) <= 0) return;
  if (__atomic_sub_fetch(left, 1, __ATOMIC_RELAXED) != 0) return;
  void (*handler)(void) = _ZSt15get_new_handlerv();
  if (!handler) _ZSt17__throw_bad_allocv();
  handler();
}

void* _Znwm(size_t bytes) {
  count();
  return malloc(bytes);
}

void* _Znam(size_t bytes) {
  return _Znwm(bytes);
}

void* _ZnwmRKSt9nothrow_t(size_t bytes, const void* nothrow) {
  (void)nothrow;
  return _Znwm(bytes);
}

void* _ZnamRKSt9nothrow_t(size_t bytes, const void* nothrow) {
  (void)nothrow;
  return _Znwm(bytes);
}
