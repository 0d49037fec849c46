#pragma once

#include <absl/strings/match.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Small questions about text that came from outside. Letters, digits and white space are those of
/// ASCII: all protocols that we speak mean these, whatever the locale of the process is.
namespace millrace {

[[nodiscard]] constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
[[nodiscard]] constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
[[nodiscard]] constexpr bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// The text with its letters in lower, or in upper case.
[[nodiscard]] std::string lower_case(std::string_view text);
[[nodiscard]] std::string upper_case(std::string_view text);

/// True when the texts differ in the case of letters at most.
[[nodiscard]] inline bool equals_ignoring_case(std::string_view a, std::string_view b) {
  // The lengths first and inline: for each member of a pushed job, a table of names is searched.
  return a.size() == b.size() && absl::EqualsIgnoreCase({a.data(), a.size()}, {b.data(), b.size()});
}
/// True when `part` is in `text`, with letters in any case. Every text contains the empty one.
[[nodiscard]] bool contains_ignoring_case(std::string_view text, std::string_view part);

/// The text without the white space at both of its ends. A view of `text`.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// Takes what is before the separator off the text, which loses that too. Without one: all of it.
[[nodiscard]] std::string_view take_until(std::string_view& text, char separator);
[[nodiscard]] inline std::string_view take_line(std::string_view& text) {
  return take_until(text, '\n');
}
[[nodiscard]] inline std::string_view take_word(std::string_view& text) {
  return take_until(text, ' ');
}

/// The text in one line: each run of white space becomes a blank, and an end beyond `bytes_max`
/// (more than 3) becomes `...`.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t bytes_max);

/// Up to `bytes_max` bytes of the text, cut between characters of UTF-8.
[[nodiscard]] std::string_view cut(std::string_view text, std::size_t bytes_max);

/// The inside of a string of JSON that was cut, without an escape at its end that is not complete,
/// or the first half of a pair.
[[nodiscard]] std::string_view without_broken_escape(std::string_view json);

/// True when the text is valid UTF-8: no overlong forms, no surrogates.
[[nodiscard]] bool is_utf8(std::string_view text);

/// The text of a part of a URL: `%41` is `A`. nullopt: after a `%` there are not two digits.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text);

/// The number in lower-case hexadecimal, always 16 digits.
[[nodiscard]] std::string hex(std::uint64_t number);

/// The bytes in lower-case hexadecimal, two digits each.
[[nodiscard]] std::string hex_of(std::string_view bytes);

/// The text as a shell takes it for one word: in quotes if it needs them.
[[nodiscard]] std::string shell_word(std::string_view text);

// ---- text that people read ----------------------------------------------------------------------

// Names and errors come from whoever pushes jobs. The log, metrics and all that is printed go
// through here.

/// One character of UTF-8, or a byte that begins none.
struct Character {
  std::string_view bytes;
  char32_t code = 0;
  bool is_valid = false;
};

/// `text` is not empty.
[[nodiscard]] Character first_character(std::string_view text);

/// Until `use` answers false.
template <typename Use>
void each_character(std::string_view text, const Use& use) {
  while (!text.empty()) {
    const Character character = first_character(text);
    if (!use(character)) return;
    text.remove_prefix(character.bytes.size());
  }
}

/// How many columns of a terminal a character takes; below 0: none of its fonts has it, or the
/// terminal obeys it.
[[nodiscard]] int columns_of(char32_t code);

/// False for what a terminal obeys or nobody sees: control characters (C0, DEL, C1), ends of lines
/// and paragraphs, marks that turn the direction of text, characters without a width that hide in
/// it, what is no character, and bytes that are not UTF-8.
[[nodiscard]] bool is_harmless(const Character& character);

/// The text in one line. What is not harmless is shown as `\n`, `\x1b` or `\u{202e}`.
[[nodiscard]] std::string harmless(std::string_view text);

/// The same for a text of JSON, which keeps its meaning: there the escapes are those of JSON.
[[nodiscard]] std::string harmless_json(std::string_view text);

}  // namespace millrace
