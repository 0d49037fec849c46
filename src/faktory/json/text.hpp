#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// Small helpers for text that came from outside.
namespace millrace::faktory {

/// The text with every byte that is no part of a UTF-8 sequence replaced by U+FFFD.
[[nodiscard]] std::string valid_utf8(std::string_view text);

/// JSON as the reference server would have read it: bytes that are not UTF-8, and `\u` escapes of
/// half a surrogate pair, become U+FFFD. nullopt: there is nothing to replace. JSON libraries
/// refuse such texts, but clients do send them (Node escapes lone surrogates), and refusing would
/// lose jobs.
[[nodiscard]] std::optional<std::string> repaired_json(std::string_view json);

/// Appends the text as a JSON string, quotes included.
void append_json_string(std::string_view text, std::string& out);

/// What fits into one line of a reply: no control characters, since a CR or LF of a client would
/// end the line early and make the rest of it the next reply; and no more than `kEchoBytesMax`.
[[nodiscard]] std::string one_line(std::string_view text);
inline constexpr std::size_t kEchoBytesMax = 1024;

/// `[a-zA-Z0-9._-]+`
[[nodiscard]] bool is_queue_name(std::string_view name);

}  // namespace millrace::faktory
