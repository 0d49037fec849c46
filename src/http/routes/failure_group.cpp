#include "http/routes/failure_group.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "http/kit/text.hpp"

namespace millrace::http {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::size_t kHexWordBytesMin = 8;

/// What comes later in a message is not looked at; nor are frames below these lines, and what is to
/// the right of these bytes.
constexpr std::size_t kMessageBytesMax = 300;
constexpr std::size_t kFramesMax = 20;
constexpr std::size_t kFrameBytesMax = 200;

/// What ends a word.
constexpr std::string_view kWordEnds = " \t\r\n\"'`<>()[]{},";
/// What a word has that stands for one thing of many, besides numbers.
constexpr std::string_view kVariableMarks = "@/:\\";

std::size_t hex_digits(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_hex_digit);
  return static_cast<std::size_t>(end - text.begin());
}

/// How long the UUID at the front is (RFC 9562, 4); 0: there is none.
std::size_t uuid_bytes(std::string_view text) {
  constexpr std::size_t kBytes = 36;
  if (text.size() < kBytes || text[8] != '-') return 0;
  std::size_t at = 0;
  for (const std::size_t digits : {8, 4, 4, 4, 12}) {
    if (at > 0 && (at >= text.size() || text[at++] != '-')) return 0;
    if (hex_digits(text.substr(at)) != digits) return 0;
    at += digits;
  }
  return at;
}

/// How long the quoted text at the front is, its quotes included; 0: there is none.
std::size_t quoted_bytes(std::string_view text, bool is_in_word) {
  struct Quotes {
    std::string_view open;
    std::string_view close;  ///< one of its characters, or all of it
    bool is_one;
  };
  constexpr std::array kQuotes = {Quotes{"\"", "\"", true}, Quotes{"'", "'", true},
                                  Quotes{"`", "`'", true},  Quotes{"“", "”", false},
                                  Quotes{"‘", "’", false},  Quotes{"«", "»", false}};
  // Most characters begin none.
  if (is_letter(text.front()) || is_digit(text.front()) || text.front() == ' ') return 0;
  for (const auto& [open, close, is_one] : kQuotes) {
    if (!text.starts_with(open)) continue;
    // An apostrophe.
    if (is_in_word) return 0;
    const std::size_t end =
        is_one ? text.find_first_of(close, open.size()) : text.find(close, open.size());
    return end == text.npos ? 0 : end + (is_one ? 1 : close.size());
  }
  return 0;
}

bool is_name(std::string_view text, std::string_view others) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_letter(c) || is_digit(c) || others.find(c) != others.npos;
  });
}

bool is_email(std::string_view word) {
  const std::size_t at = word.find('@');
  return at != word.npos && is_name(word.substr(0, at), "._%+-") &&
         is_name(word.substr(at + 1), ".-") && word.find('.', at) != word.npos;
}

bool is_path(std::string_view word) {
  for (const std::string_view root : {"/"sv, "~/"sv, "./"sv, "../"sv}) {
    if (word.size() > root.size() && word.starts_with(root)) return true;
  }
  const bool has_drive = word.size() > 3 && is_letter(word[0]) && word[1] == ':';
  if (has_drive && (word[2] == '\\' || word[2] == '/')) return true;
  return std::ranges::count(word, '/') >= 2;
}

bool is_ipv6(std::string_view word) {
  return std::ranges::count(word, ':') >= 2 && std::ranges::all_of(word, [](char c) {
           return is_hex_digit(c) || c == ':' || c == '.' || c == '%';
         });
}

/// The word at the front.
std::string_view word_at(std::string_view text) {
  return text.substr(0, std::min(text.find_first_of(kWordEnds), text.size()));
}

/// What of the word stands for one thing of many: all, or what is behind the last `=`, without
/// punctuation at the end. Empty: nothing does.
std::string_view variable_part(std::string_view word) {
  if (word.find_first_of(kVariableMarks) == word.npos) return {};
  std::string_view part = word.substr(0, word.find_last_not_of(".:;!?") + 1);
  if (part.find("://") != part.npos) return part;
  part.remove_prefix(part.rfind('=') + 1);
  return is_email(part) || is_path(part) || is_ipv6(part) ? part : std::string_view{};
}

/// How long the number at the front is; 0: there is none.
std::size_t number_bytes(std::string_view text) {
  const std::size_t hex = hex_digits(text);
  if (hex >= kHexWordBytesMin) return hex;
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  return static_cast<std::size_t>(end - text.begin());
}

/// With `#` for numbers only.
std::string without_numbers(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t bytes = number_bytes(text);
    out += bytes > 0 ? '#' : text.front();
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return out;
}

bool is_of_library(std::string_view frame) {
  frame = frame.substr(0, kFrameBytesMax);
  constexpr std::array kMarks = {"/gems/"sv,        "site-packages/"sv, "dist-packages/"sv,
                                 "node_modules/"sv, "node:internal/"sv, "/vendor/"sv,
                                 "/pkg/mod/"sv,     "/usr/lib/"sv,      "/rubygems/"sv,
                                 "<internal:"sv,    "<frozen "sv,       "/usr/local/go/"sv};
  return std::ranges::any_of(kMarks,
                             [&](std::string_view mark) { return frame.find(mark) != frame.npos; });
}

}  // namespace

std::string normalized_message(std::string_view message) {
  message = cut(message, kMessageBytesMax);
  std::string out;
  bool is_in_word = false;  // after a letter or a digit
  std::string_view variable;
  const char* word_end = message.data();
  while (!message.empty()) {
    const char* const at = message.data();
    if (at >= word_end) {
      const std::string_view word = word_at(message);
      word_end = at + std::max<std::size_t>(word.size(), 1);
      variable = variable_part(word);
    }
    std::size_t bytes = quoted_bytes(message, is_in_word);
    if (bytes == 0 && at == variable.data()) bytes = variable.size();
    if (bytes == 0 && !is_in_word) bytes = uuid_bytes(message);
    if (bytes == 0) bytes = number_bytes(message);
    out += bytes > 0 ? '#' : message.front();
    const bool is_ascii = static_cast<unsigned char>(message.front()) < 0x80;
    is_in_word = bytes > 0 || is_letter(message.front()) || !is_ascii;
    message.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return out;
}

std::string normalized_frame(const Failure& failure) {
  const auto& lines = failure.backtrace;
  if (lines.empty()) return {};
  const auto end = lines.begin() + static_cast<std::ptrdiff_t>(std::min(lines.size(), kFramesMax));
  const auto own = std::find_if_not(lines.begin(), end, is_of_library);
  const std::string_view frame = own == end ? lines.front() : *own;
  return without_numbers(frame.substr(0, kFrameBytesMax));
}

std::uint64_t failure_group_number(const Failure& failure) {
  // No text that is UTF-8 has this byte: it keeps them apart.
  constexpr unsigned char kEnd = 0xFF;
  Fnv1a hash;
  for (const std::string& part :
       {failure.errtype, normalized_message(failure.message), normalized_frame(failure)}) {
    hash.add(part);
    hash.add(kEnd);
  }
  return hash.value();
}

std::string failure_group(const Failure& failure) {
  return hex(failure_group_number(failure));
}

}  // namespace millrace::http
