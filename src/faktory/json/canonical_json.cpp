#include "faktory/json/canonical_json.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <string>

#include "base/text.hpp"
#include "faktory/json/checked_json.hpp"
#include "faktory/json/text.hpp"

namespace millrace::faktory {
namespace {

/// Exponents beyond are all alike: no number that a program means has one, and their sums must fit.
constexpr std::int64_t kExponentMax = 1'000'000'000'000;

std::int64_t exponent_of(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value > kExponentMax) value = kExponentMax;
  return is_negative ? -value : value;
}

/// Whole numbers of up to so many digits are written out.
constexpr std::size_t kPlainDigits = 40;

/// Appends the digits of a whole number; of others the digits without zeros at either end, and a
/// power of ten.
void append_number(std::string_view text, std::string& out) {
  const std::size_t number_begin = out.size();
  if (text.starts_with('-')) {
    out += '-';
    text.remove_prefix(1);
  }
  const std::size_t mark = std::min(text.find_first_of("eE"), text.size());
  std::int64_t exponent = mark < text.size() ? exponent_of(text.substr(mark + 1)) : 0;
  const std::size_t digits_begin = out.size();
  bool is_fraction = false;
  for (const char c : text.substr(0, mark)) {
    if (c == '.') {
      is_fraction = true;
      continue;
    }
    if (is_fraction) --exponent;
    // Zeros in front say nothing.
    if (c != '0' || out.size() > digits_begin) out += c;
  }
  while (out.size() > digits_begin && out.back() == '0') {
    out.pop_back();
    ++exponent;
  }
  if (out.size() == digits_begin) {
    // Nothing but zeros; and 0 is -0.
    out.resize(number_begin);
    out += '0';
  } else if (exponent >= 0 && out.size() - digits_begin + exponent <= kPlainDigits) {
    out.append(static_cast<std::size_t>(exponent), '0');
  } else {
    out += 'e';
    out += std::to_string(exponent);
  }
}

void append_string(std::string_view string, std::string& out) {
  if (string.find('\\') == std::string_view::npos) {
    out += string;
  } else {
    append_json_string(meaning_of(string), out);
  }
}

void append_value(std::string_view json, std::string& out);

void append_object(std::string_view object, std::string& out) {
  std::map<std::string, std::string_view> members;
  each_member(object, [&](std::string_view name, std::string_view value) {
    members[meaning_of(name)] = value;
  });
  out += '{';
  for (const auto& [name, value] : members) {
    append_json_string(name, out);
    out += ':';
    append_value(value, out);
    out += ',';
  }
  out += '}';
}

void append_array(std::string_view array, std::string& out) {
  CheckedJson json(array);
  json.take('[');
  out += '[';
  for (bool is_first = true; json.peek() != ']' && json.peek() != '\0'; is_first = false) {
    if (!is_first) out += ',';
    append_value(json.take_value(), out);
    json.take(',');
  }
  out += ']';
}

void append_value(std::string_view json, std::string& out) {
  switch (CheckedJson(json).peek()) {
    case '{':
      return append_object(json, out);
    case '[':
      return append_array(json, out);
    case '"':
      return append_string(json, out);
    case 't':
    case 'f':
    case 'n':
    case '\0':
      out += json;
      return;
    default:
      return append_number(json, out);
  }
}

/// Takes the string at the front, if nothing in it is escaped.
bool take_plain_string(std::string_view& rest) {
  const std::size_t end = rest.find('"', 1);
  if (end == std::string_view::npos) return false;
  if (rest.substr(0, end).find('\\') != std::string_view::npos) return false;
  rest.remove_prefix(end + 1);
  return true;
}

/// Takes the whole number at the front, if it is canonical and so has no other form.
bool take_plain_number(std::string_view& rest) {
  std::size_t at = rest.front() == '-' ? 1 : 0;
  const std::size_t begin = at;
  while (at < rest.size() && is_digit(rest[at])) ++at;
  const bool is_negative_zero = begin == 1 && at > begin && rest[begin] == '0';
  if (at == begin || at - begin > kPlainDigits || is_negative_zero) return false;
  const bool goes_on = at < rest.size() && (rest[at] == '.' || rest[at] == 'e' || rest[at] == 'E');
  if (goes_on) return false;
  rest.remove_prefix(at);
  return true;
}

/// Appends what most arguments are: arrays of short texts and whole numbers, whose one form they
/// have but for white space. False: they are something else, and a part may have been appended.
bool append_plain(std::string_view rest, std::string& out) {
  while (!rest.empty()) {
    const std::string_view before = rest;
    const char first = rest.front();
    if (first == '"') {
      if (!take_plain_string(rest)) return false;
    } else if (first == '-' || is_digit(first)) {
      if (!take_plain_number(rest)) return false;
    } else {
      rest.remove_prefix(1);
      if (is_json_space(first)) continue;
      if (first != '[' && first != ']' && first != ',') return false;
    }
    out.append(before.data(), before.size() - rest.size());
  }
  return true;
}

}  // namespace

void append_canonical(std::string_view json, std::string& out) {
  const std::size_t before = out.size();
  if (append_plain(json, out)) return;
  out.resize(before);
  append_value(json, out);
}

}  // namespace millrace::faktory
