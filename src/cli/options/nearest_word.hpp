#pragma once

#include <span>
#include <string_view>

namespace millrace::cli {

/// The word that somebody who typed `text` may have meant. For each three letters of the text, one
/// may be missing, wrong or too much, or two may have changed places. Empty: no word is so near.
[[nodiscard]] std::string_view nearest_word(std::string_view text,
                                            std::span<const std::string_view> words);

}  // namespace millrace::cli
