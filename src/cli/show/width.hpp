#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Harmless text (`base/text.hpp`) on a terminal.
namespace millrace::cli {

/// How many columns of a terminal a harmless text takes: a Chinese character takes two, an accent
/// of its own none.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// The beginning of a harmless text that takes at most so many columns, with `…` for what is left
/// out.
[[nodiscard]] std::string cut_to_width(std::string_view text, std::size_t columns);

/// Its beginning and its end, with `…` in the middle: names often differ at their ends only.
[[nodiscard]] std::string cut_middle_to_width(std::string_view text, std::size_t columns);

/// A harmless text in lines of at most so many columns, broken at blanks. A longer word has a line
/// of its own, whole, so that it can be copied.
[[nodiscard]] std::vector<std::string> broken_to_width(std::string_view text, std::size_t columns);

/// The same as one text: each line but the first begins with `indent` blanks, which count.
[[nodiscard]] std::string broken_text(std::string_view text, std::size_t columns,
                                      std::size_t indent = 0);

}  // namespace millrace::cli
