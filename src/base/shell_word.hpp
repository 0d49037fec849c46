#pragma once

#include <string>
#include <string_view>

namespace millrace {

/// The text as a shell takes it for one word: in quotes if it needs them.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace millrace
