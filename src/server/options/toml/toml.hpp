#pragma once

/// toml++ as all of us use it: without exceptions, and for reading only.
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// Its parser asserts that a table's name begins like a name, or, with NDEBUG, tells the compiler
// that it does; it looks itself a line later, and has an error for `[=]`. So nothing is asserted.
#define TOML_ASSERT(expr) static_assert(true)
#pragma push_macro("NDEBUG")
#undef NDEBUG
// Of characters such as é, 3.3 asks which blank of Unicode they are in a switch that it calls
// complete. Each case compares with its blanks, so that the answer is right whichever is taken.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wignored-attributes"
#pragma clang attribute push(__attribute__((no_sanitize("unreachable"))), apply_to = function)
#endif
#include <toml++/toml.h>
#ifdef __clang__
#pragma clang attribute pop
#pragma clang diagnostic pop
#endif
#pragma pop_macro("NDEBUG")
