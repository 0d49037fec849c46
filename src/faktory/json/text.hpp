#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// Text in JSON and in replies. More general questions about text are in base/text.hpp.
namespace millrace::faktory {

/// White space between the tokens of JSON.
[[nodiscard]] constexpr bool is_json_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/// What takes the place of bytes that are not UTF-8, and of an escape of half a surrogate pair.
inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// No JSON begins with it (RFC 8259, section 8.1), and the reference refuses it. Some versions of
/// simdjson skip it.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
inline constexpr std::string_view kReplacementEscape = "\\ufffd";

/// The text with every byte that is no part of a UTF-8 sequence replaced by U+FFFD.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// JSON as the reference server would read it: bytes that are not UTF-8, and `\u` escapes of half a
/// surrogate pair, become U+FFFD. nullopt: there is nothing to replace. JSON libraries refuse such
/// texts, but clients send them (Node escapes lone surrogates), and a refusal would lose jobs.
[[nodiscard]] std::optional<std::string> repaired_json(std::string_view json);

/// Appends the text as a JSON string, quotes included.
void append_json_string(std::string_view text, std::string& out);

/// The text as it may appear in one line of a reply: at most `kEchoBytesMax`, and without control
/// characters. A CR or LF of a client would end the line and make its rest the next reply.
[[nodiscard]] std::string one_line(std::string_view text);
inline constexpr std::size_t kEchoBytesMax = 1024;

/// True for names that FWP gives to queues: `[a-zA-Z0-9._-]+`.
[[nodiscard]] bool is_queue_name(std::string_view name);

}  // namespace millrace::faktory
