#pragma once

#include <string_view>

namespace millrace::faktory {

/// True when the whole text is like the pattern, as Redis compares them (which is what a `regexp`
/// of MUTATE means to the reference server):
///
///     *        any bytes, also none        ?        one byte
///     [a-c_]   one of these                [^a-c]   one that is none of these
///     \x       x itself; a lone \ at the end is one
///
/// A class that does not end reaches to the end of the pattern. Takes at most
/// size of text x size of pattern steps.
[[nodiscard]] bool matches_glob(std::string_view pattern, std::string_view text);

/// True when the pattern is like nothing but itself.
[[nodiscard]] bool is_plain_text(std::string_view pattern);

}  // namespace millrace::faktory
