#pragma once

#include <cstdio>
#include <cstdlib>

/// CHECK(condition) ends the process when our own reasoning is wrong. It is on in every build, and
/// never depends on what a client or a file says: those get a `Result`.
#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) [[unlikely]] {                                                     \
      std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)
