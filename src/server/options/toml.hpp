#pragma once

/// toml++ as all of us use it: without exceptions, and for reading only.
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// Its parser asserts that a table's name begins like a name, or, with NDEBUG, tells the compiler
// that it does; it looks itself a line later, and has an error for `[=]`. So nothing is asserted.
#define TOML_ASSERT(expr) static_assert(true)
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
