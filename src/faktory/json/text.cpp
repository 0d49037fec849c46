#include "faktory/json/text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/number.hpp"
#include "base/text.hpp"

namespace millrace::faktory {
namespace {

constexpr std::size_t kEscapeBytes = 6;  // \uXXXX

enum class Escape { kOther, kHighSurrogate, kLowSurrogate };

/// What the escape at the front is. `text` starts with a backslash.
Escape escape_kind(std::string_view text) {
  if (text.size() < kEscapeBytes || text[1] != 'u') return Escape::kOther;
  const unsigned code = parse_number<unsigned>(text.substr(2, kEscapeBytes - 2), 16).value_or(0);
  if (code >= 0xD800 && code <= 0xDBFF) return Escape::kHighSurrogate;
  if (code >= 0xDC00 && code <= 0xDFFF) return Escape::kLowSurrogate;
  return Escape::kOther;
}

bool starts_with_low_surrogate(std::string_view text) {
  return text.starts_with('\\') && escape_kind(text) == Escape::kLowSurrogate;
}

/// Calls `visit(offset)` for each escape of half a surrogate pair.
template <typename Visit>
void each_lone_surrogate(std::string_view json, Visit visit) {
  std::size_t at = json.find('\\');
  while (at != std::string_view::npos) {
    const Escape kind = escape_kind(json.substr(at));
    std::size_t bytes = kind == Escape::kOther ? 2 : kEscapeBytes;
    if (kind == Escape::kHighSurrogate && starts_with_low_surrogate(json.substr(at + bytes))) {
      bytes += kEscapeBytes;
    } else if (kind != Escape::kOther) {
      visit(at);
    }
    at = json.find('\\', at + bytes);
  }
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string out;
  out.reserve(text.size() + 16);
  each_character(text, [&out](const Character& character) {
    out += character.is_valid ? character.bytes : kReplacement;
    return true;
  });
  return out;
}

std::optional<std::string> repaired_json(std::string_view json) {
  bool has_lone_surrogate = false;
  each_lone_surrogate(json, [&](std::size_t) { has_lone_surrogate = true; });
  // Nearly every text needs no repair, and then is not copied.
  if (!has_lone_surrogate && is_utf8(json)) return std::nullopt;
  std::string out = valid_utf8(json);
  each_lone_surrogate(out, [&](std::size_t at) {
    std::copy(kReplacementEscape.begin(), kReplacementEscape.end(),
              out.begin() + static_cast<std::ptrdiff_t>(at));
  });
  return out;
}

void append_json_string(std::string_view text, std::string& out) {
  // Most strings are names and ids, which need no escapes.
  const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
  });
  if (is_plain) {
    out += '"';
    out += text;
    out += '"';
    return;
  }
  out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string one_line(std::string_view text) {
  std::string out;
  // Clients may show it on a terminal.
  each_character(cut(text, kEchoBytesMax), [&out](const Character& character) {
    out += is_harmless(character) ? character.bytes : "?";
    return true;
  });
  return out;
}

bool is_queue_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '.' || c == '_' || c == '-';
  });
}

}  // namespace millrace::faktory
