// Preloaded, the allocation by `new` fails that a test chooses, in whatever thread: the last of its
// countdown.

#include "countdown.h"

// std::get_new_handler, and what `new` does where there is no handler.
extern void (*_ZSt15get_new_handlerv(void))(void);
extern void _ZSt17__throw_bad_allocv(void) __attribute__((noreturn));

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
