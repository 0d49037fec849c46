// Preloaded, a thread cannot be started when a test says so: the last of its countdown. Below 0: all
// fail.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "countdown.h"

static int must_fail(void) {
  int64_t now = left ? __atomic_load_n(left, __ATOMIC_RELAXED) : 0;
  return now < 0 || (now > 0 && __atomic_sub_fetch(left, 1, __ATOMIC_RELAXED) == 0);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) {
  typedef int (*Create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static Create create;
  if (!create) create = (Create)dlsym(RTLD_NEXT, "pthread_create");
  return must_fail() ? EAGAIN : create(thread, attributes, run, argument);
}
