#pragma once

#include <cstdio>
#include <cstdlib>

/// CHECK(condition) ends the process when our own reasoning is wrong. It is on in every build, and
/// never depends on a client's or a file's content: those get a `Result`.
#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) [[unlikely]] {                                                     \
      std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)

/// DCHECK(condition) is a CHECK that is too expensive for the program that users run: more than 1 %
/// of an operation. Debug builds evaluate it (presets check, dev, asan-ubsan, tsan), release builds
/// only compile it. The condition must have no effect of its own.
#ifdef MILLRACE_DCHECKS
#define DCHECK(condition) CHECK(condition)
#else
#define DCHECK(condition)         \
  do {                            \
    if (false) (void)(condition); \
  } while (false)
#endif
