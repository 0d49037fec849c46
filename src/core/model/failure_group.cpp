#include "core/model/failure_group.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "base/hash.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace millrace {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::size_t kHexWordBytesMin = 8;

/// What comes later in a message is not looked at; nor are frames below these lines, and what is to
/// the right of these bytes.
constexpr std::size_t kMessageBytesMax = 300;
constexpr std::size_t kFramesMax = 100;
constexpr std::size_t kFrameBytesMax = 200;

/// What ends a word.
constexpr std::string_view kWordEnds = " \t\r\n\"'`<>()[]{},";
/// What a word has that stands for one thing of many, besides numbers.
constexpr std::string_view kVariableMarks = "@/:\\";

bool is_name_byte(char c) {
  return is_letter(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80;
}

std::size_t find_unescaped(std::string_view text, char quote, std::size_t from) {
  std::size_t end = text.find(quote, from);
  while (end != text.npos && text[end - 1] == '\\') end = text.find(quote, end + 1);
  return end;
}

/// The end of a text in apostrophes, of which some may be in the text too: `'O'Neil'`.
std::size_t find_apostrophe(std::string_view text, std::string_view close, std::size_t from) {
  constexpr int kInsideMax = 4;
  std::size_t end = text.find_first_of(close, from);
  for (int inside = 0; end != text.npos && end + 1 < text.size() && is_name_byte(text[end + 1]);
       ++inside) {
    if (inside == kInsideMax) return text.npos;
    end = text.find_first_of(close, end + 1);
  }
  return end;
}

/// How long the quoted text at the front is, its quotes included; 0: there is none. One without an
/// end is no quoted text, unless the text was cut.
std::size_t quoted_bytes(std::string_view text, bool is_in_word, bool is_cut) {
  // Most characters begin none.
  if (is_letter(text.front()) || is_digit(text.front()) || text.front() == ' ') return 0;
  struct Quotes {
    std::string_view open;
    std::string_view close;
  };
  constexpr std::array kQuotes = {Quotes{"\"", "\""}, Quotes{"'", "'"}, Quotes{"`", "`'"},
                                  Quotes{"“", "”"},   Quotes{"‘", "’"}, Quotes{"«", "»"},
                                  Quotes{"„", "“"},   Quotes{"‚", "‘"}};
  for (const auto& [open, close] : kQuotes) {
    if (!text.starts_with(open)) continue;
    // An apostrophe.
    if (is_in_word) return 0;
    const std::size_t end = open == "\""sv     ? find_unescaped(text, '"', 1)
                            : open.size() == 1 ? find_apostrophe(text, close, 1)
                                               : text.find(close, open.size());
    if (end != text.npos) return end + (open.size() == 1 ? 1 : close.size());
    return is_cut ? text.size() : 0;
  }
  return 0;
}

bool is_name(std::string_view text, std::string_view others) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_name_byte(c) || others.find(c) != others.npos;
  });
}

bool is_email(std::string_view word) {
  const std::size_t at = word.find('@');
  return at != word.npos && is_name(word.substr(0, at), "._%+-'") &&
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

/// Perhaps with a zone: `fe80::1%eth0`.
bool is_ipv6(std::string_view word) {
  word = word.substr(0, word.find('%'));
  return std::ranges::count(word, ':') >= 2 &&
         std::ranges::all_of(word, [](char c) { return is_hex_digit(c) || c == ':' || c == '.'; });
}

/// How long an IPv6 address or a UUID in brackets is at the front; 0: there is none.
std::size_t bracketed_bytes(std::string_view text) {
  const bool is_address = text.starts_with('[');
  if (!is_address && !text.starts_with('{')) return 0;
  const std::size_t end = text.find(is_address ? ']' : '}');
  if (end == text.npos) return 0;
  const std::string_view inside = text.substr(1, end - 1);
  const bool is_uuid =
      inside.size() == 36 && std::ranges::count(inside, '-') == 4 &&
      std::ranges::all_of(inside, [](char c) { return is_hex_digit(c) || c == '-'; });
  return (is_address ? is_ipv6(inside) : is_uuid) ? end + 1 : 0;
}

/// The word at the front, with apostrophes between its letters.
std::string_view word_at(std::string_view text) {
  std::size_t end = text.find_first_of(kWordEnds);
  while (end != text.npos && end > 0 && text[end] == '\'' && end + 1 < text.size() &&
         is_name_byte(text[end - 1]) && is_name_byte(text[end + 1])) {
    end = text.find_first_of(kWordEnds, end + 1);
  }
  return text.substr(0, std::min(end, text.size()));
}

/// Whether the word ends as the name of a file does: ".jpg".
bool has_extension(std::string_view word) {
  constexpr std::size_t kExtensionBytesMax = 5;
  const std::size_t dot = word.rfind('.');
  if (dot == word.npos || dot + 1 == word.size()) return false;
  const std::string_view extension = word.substr(dot + 1);
  return extension.size() <= kExtensionBytesMax && is_name(extension, "");
}

/// How long the path at the front of the text is, which begins with this word: names of files may
/// have blanks.
std::size_t path_bytes(std::string_view text, std::string_view word) {
  constexpr int kBlanksMax = 3;
  if (has_extension(word)) return word.size();
  std::size_t end = word.size();
  for (int blanks = 0; blanks < kBlanksMax && end < text.size() && text[end] == ' '; ++blanks) {
    const std::string_view next = word_at(text.substr(end + 1));
    const std::string_view name = next.substr(0, next.find_last_not_of(".:;!?") + 1);
    end += 1 + next.size();
    if (has_extension(name)) return end - (next.size() - name.size());
  }
  return word.size();
}

/// What of the text's first word stands for one thing of many: all, or what is behind the last `=`,
/// without punctuation at the end. Empty: nothing does.
std::string_view variable_part(std::string_view text, std::string_view word) {
  if (word.find_first_of(kVariableMarks) == word.npos) return {};
  if (is_ipv6(word)) return word;
  if (word.ends_with("://")) {
    const std::size_t host = bracketed_bytes(text.substr(word.size()));
    if (host > 0)
      word = text.substr(0, word.size() + host + word_at(text.substr(word.size() + host)).size());
  }
  std::string_view part = word.substr(0, word.find_last_not_of(".:;!?") + 1);
  if (part.find("://") != part.npos) return part;
  const std::size_t begin = part.rfind('=') + 1;
  part.remove_prefix(begin);
  if (is_path(part)) return text.substr(begin, path_bytes(text.substr(begin), part));
  return is_email(part) || is_ipv6(part) ? part : std::string_view{};
}

/// The number, the name or the word at the front. Of other letters than ASCII's none: scripts
/// without spaces would be one word.
std::string_view run_at(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '+' || c == '.' || c == ',';
  });
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

/// `17`, `-3.5`, `1,024`, `0xff`, `ch_3MmlLr`, `1m2.5s`, `deadbeef`
bool is_of_one_thing(std::string_view token) {
  return std::ranges::any_of(token, is_digit) ||
         (token.size() >= kHexWordBytesMin && std::ranges::all_of(token, is_hex_digit));
}

/// With `#` for numbers and addresses only.
std::string without_numbers(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const bool is_hex = text.starts_with("0x");
    const std::string_view digits = text.substr(is_hex ? 2 : 0);
    std::size_t bytes =
        static_cast<std::size_t>(std::ranges::find_if_not(digits, is_hex_digit) - digits.begin());
    if (!is_hex && bytes < kHexWordBytesMin) {
      bytes = static_cast<std::size_t>(std::ranges::find_if_not(digits, is_digit) - digits.begin());
    }
    out += bytes > 0 ? '#' : text.front();
    text.remove_prefix(bytes > 0 ? bytes + (is_hex ? 2 : 0) : 1);
  }
  return out;
}

/// The first lines of the backtrace, whose entries may have several each.
std::vector<std::string_view> lines_of(const std::vector<std::string>& backtrace) {
  std::vector<std::string_view> lines;
  for (std::string_view entry : backtrace) {
    while (!entry.empty() && lines.size() < kFramesMax) {
      lines.push_back(take_line(entry).substr(0, kFrameBytesMax));
    }
  }
  return lines;
}

/// Whether the line names a place in code: `a.rb:3`, `line 3`, `a.php(3)`.
bool is_frame(std::string_view line) {
  for (std::size_t at = line.find_first_of(":( "); at != line.npos;
       at = line.find_first_of(":( ", at + 1)) {
    std::size_t end = at + 1;
    while (end < line.size() && is_digit(line[end])) ++end;
    if (end == at + 1) continue;
    if (line[at] == ':' || (line[at] == ' ' && line.substr(0, at).ends_with("line"))) return true;
    if (line[at] == '(' && end < line.size() && line[end] == ')') return true;
  }
  return false;
}

/// Python's, the innermost of which comes last.
bool is_of_python(std::string_view line) {
  return trimmed(line).starts_with("File \"");
}

/// How the path, or the name of the place, begins behind a sign in a frame of a library.
std::span<const std::string_view> library_marks(char sign) {
  static constexpr std::array kPaths = {
      "gems/"sv,      "site-packages/"sv,  "dist-packages/"sv, "node_modules/"sv,
      "vendor/"sv,    "pkg/mod/"sv,        "usr/lib/"sv,       "rubygems/"sv,
      "lib/python"sv, "usr/local/lib/"sv,  "lib/ruby/2"sv,     "lib/ruby/3"sv,
      "lib/ruby/4"sv, "go/src/runtime/"sv, "usr/local/go/"sv,  "rustc/"sv};
  static constexpr std::array kInBrackets = {"node:"sv, "node_modules/"sv, "elixir "sv,
                                             "stdlib "sv};
  static constexpr std::array kWords = {"node:"sv, "node_modules/"sv};
  static constexpr std::array kInAngles = {"internal:"sv, "frozen "sv};
  switch (sign) {
    case '/':
      return kPaths;
    case '(':
      return kInBrackets;
    case '<':
      return kInAngles;
    default:
      return kWords;
  }
}

bool is_of_library(std::string_view frame) {
  constexpr std::array kBeginnings = {"java."sv,   "javax."sv,     "jdk."sv,
                                      "sun."sv,    "kotlin."sv,    "scala."sv,
                                      "System."sv, "Microsoft."sv, "node_modules/"sv};
  const auto begins_with_one_of = [](std::string_view text,
                                     std::span<const std::string_view> marks) {
    return std::ranges::any_of(marks,
                               [&](std::string_view mark) { return text.starts_with(mark); });
  };
  std::string_view name = trimmed(frame);
  if (name.starts_with("at ")) name.remove_prefix(3);
  if (begins_with_one_of(name, kBeginnings)) return true;
  constexpr std::string_view kSigns = "/ (<";
  for (std::size_t at = frame.find_first_of(kSigns); at != frame.npos;
       at = frame.find_first_of(kSigns, at + 1)) {
    if (begins_with_one_of(frame.substr(at + 1), library_marks(frame[at]))) return true;
  }
  return false;
}

/// Whether the line is not a frame, but "TYPE: MESSAGE", as the first line of Node's stacks.
bool repeats(std::string_view line, std::string_view message) {
  constexpr std::size_t kCompared = 60;
  message = message.substr(0, std::min(message.find('\n'), kCompared));
  const std::size_t at = message.empty() ? line.npos : line.find(message);
  if (at == line.npos) return false;
  return at == 0 || (at >= 2 && line.find(' ') == at - 1 && line[at - 2] == ':');
}

}  // namespace

std::string normalized_message(std::string_view message) {
  const bool is_cut = message.size() > kMessageBytesMax;
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
      variable = variable_part(message, word);
    }
    std::size_t bytes = quoted_bytes(message, is_in_word, is_cut);
    if (bytes == 0 && at == variable.data()) bytes = variable.size();
    if (bytes == 0) bytes = bracketed_bytes(message);
    const std::string_view run = bytes == 0 ? run_at(message) : std::string_view{};
    // Punctuation at its end stays. Where it is nothing else, all of it is passed at once.
    const std::string_view token = run.substr(0, run.find_last_not_of("-+.,") + 1);
    if (is_of_one_thing(token)) bytes = token.size();
    const std::string_view word = token.empty() ? run : token;
    const std::string_view kept = message.substr(0, std::max<std::size_t>(word.size(), 1));
    out += bytes > 0 ? "#"sv : kept;
    const std::size_t passed = bytes > 0 ? bytes : kept.size();
    is_in_word = bytes > 0 || is_name_byte(message[passed - 1]);
    message.remove_prefix(passed);
  }
  return out;
}

std::string normalized_frame(const Failure& failure) {
  std::string_view any;
  std::string_view own;
  bool is_python = false;
  for (const std::string_view line : lines_of(failure.backtrace)) {
    // Between its frames are lines of source.
    is_python = is_python || is_of_python(line);
    if (is_python && !is_of_python(line)) continue;
    if (!is_frame(line) || repeats(line, failure.message)) continue;
    if (any.empty()) any = line;
    if (is_of_library(line)) continue;
    own = line;
    if (!is_python) break;
  }
  std::string_view frame = own.empty() ? any : own;
  // PHP's have numbers of their own: `#0 a.php(3)`.
  if (frame.starts_with('#')) {
    const std::size_t end = frame.find_first_not_of("0123456789", 1);
    if (end != frame.npos && end > 1 && frame[end] == ' ') frame.remove_prefix(end + 1);
  }
  return without_numbers(frame);
}

std::uint64_t failure_group_number(const Failure& failure) {
  if (failure.group.number != 0) return failure.group.number;
  // No text that is UTF-8 has this byte: it keeps them apart.
  constexpr unsigned char kEnd = 0xFF;
  Fnv1a hash;
  const auto add = [&](std::string_view part) {
    hash.add(part);
    hash.add(kEnd);
  };
  add(failure.errtype);
  add(normalized_message(failure.message));
  add(normalized_frame(failure));
  // 0 means that nobody has asked.
  return failure.group.number = std::max<std::uint64_t>(hash.value(), 1);
}

std::string failure_group(const Failure& failure) {
  return hex(failure_group_number(failure));
}

std::optional<std::uint64_t> parse_failure_group(std::string_view name) {
  const auto number = parse_number<std::uint64_t>(name, 16);
  return name.size() == 2 * sizeof *number && number != 0u ? number : std::nullopt;
}

}  // namespace millrace
