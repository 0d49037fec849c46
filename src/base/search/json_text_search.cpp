#include "base/search/json_text_search.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/number.hpp"

namespace millrace {
namespace {

/// `\uXXXX`, the longest escape.
constexpr std::size_t kEscapeBytesMax = 6;

/// What the letter after a backslash means.
char meaning_of(char letter) {
  switch (letter) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return letter;
  }
}

std::string utf8_of(unsigned code) {
  std::string out;
  const auto add = [&out](unsigned byte) { out += static_cast<char>(byte); };
  const auto add_rest = [&](int shift) { add(0x80U | ((code >> shift) & 0x3FU)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xC0U | (code >> 6U));
    add_rest(0);
  } else if (code < 0x10000) {
    add(0xE0U | (code >> 12U));
    add_rest(6);
    add_rest(0);
  } else {
    add(0xF0U | (code >> 18U));
    add_rest(12);
    add_rest(6);
    add_rest(0);
  }
  return out;
}

}  // namespace

TextSearch::TextSearch(std::string part) : part_(std::move(part)), borders_(part_.size() + 1) {
  CHECK(!part_.empty());
  std::size_t border = 0;
  for (std::size_t i = 1; i < part_.size(); ++i) {
    while (border > 0 && part_[i] != part_[border]) border = borders_[border];
    if (part_[i] == part_[border]) ++border;
    borders_[i + 1] = border;
  }
}

bool TextSearch::read(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (matched_ == 0) {
      // Many times as fast as a look at each byte.
      i = bytes.find(part_.front(), i);
      if (i == bytes.npos) return false;
    }
    while (matched_ > 0 && bytes[i] != part_[matched_]) matched_ = borders_[matched_];
    if (bytes[i] == part_[matched_]) ++matched_;
    if (matched_ == part_.size()) return true;
  }
  return false;
}

void JsonTextSearch::restart() {
  written_.restart();
  decoded_.restart();
  has_escapes_ = false;
  escape_.clear();
  high_ = 0;
}

bool JsonTextSearch::read(std::string_view bytes) {
  const std::size_t matched = written_.matched();
  if (written_.read(bytes)) return true;
  if (!has_escapes_) {
    if (bytes.find('\\') == bytes.npos) return false;
    has_escapes_ = true;
    decoded_.go_on_from(matched);
  }
  return read_decoded(bytes);
}

bool JsonTextSearch::read_decoded(std::string_view bytes) {
  while (!bytes.empty()) {
    if (escape_.empty()) {
      const std::size_t plain = std::min(bytes.find('\\'), bytes.size());
      if (plain > 0) high_ = 0;
      if (decoded_.read(bytes.substr(0, plain))) return true;
      bytes.remove_prefix(plain);
      if (bytes.empty()) return false;
    }
    escape_ += bytes.front();
    bytes.remove_prefix(1);
    const bool is_code = escape_.size() > 1 && escape_[1] == 'u';
    if (escape_.size() < (is_code ? kEscapeBytesMax : 2)) continue;
    const bool is_found = read_escape();
    escape_.clear();
    if (is_found) return true;
  }
  return false;
}

bool JsonTextSearch::read_escape() {
  if (escape_[1] != 'u') {
    high_ = 0;
    const char meaning = meaning_of(escape_[1]);
    return decoded_.read({&meaning, 1});
  }
  const auto code = parse_number<unsigned>(std::string_view(escape_).substr(2), 16);
  return code ? read_code(*code) : decoded_.read(escape_);
}

bool JsonTextSearch::read_code(unsigned code) {
  if (code >= 0xD800 && code < 0xDC00) {
    high_ = code;
    return false;
  }
  const bool is_pair = high_ != 0 && code >= 0xDC00 && code < 0xE000;
  const unsigned whole = is_pair ? 0x10000 + ((high_ - 0xD800) << 10U) + (code - 0xDC00) : code;
  high_ = 0;
  return decoded_.read(utf8_of(whole));
}

}  // namespace millrace
