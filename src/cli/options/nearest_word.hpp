#pragma once

#include <span>
#include <string_view>

namespace millrace::cli {

/// The word that somebody who typed `text` may have meant. It differs in one letter of three at
/// most, by a letter that is missing, wrong or too much, or by two that changed places. Empty: no
/// word is so near.
[[nodiscard]] std::string_view nearest_word(std::string_view text,
                                            std::span<const std::string_view> words);

}  // namespace millrace::cli
