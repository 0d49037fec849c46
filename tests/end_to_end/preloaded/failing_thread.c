// Preloaded, a thread cannot be started when a test says so. The file THREADS has a number of 8
// bytes: so many threads from now on, the last of them fails. 0: none does. Below 0: all fail. The
// test reads there how many are left.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int64_t* left;

__attribute__((constructor)) static void begin(void) {
  const char* path = getenv("THREADS");
  int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  left = mmap(0, sizeof *left, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
}

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
