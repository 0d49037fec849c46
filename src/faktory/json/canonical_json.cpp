#include "faktory/json/canonical_json.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>

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

/// Where the whole number that begins there ends, if it is canonical and so has no other form;
/// otherwise 0.
std::size_t plain_number_end(std::string_view json, std::size_t begin) {
  std::size_t at = json[begin] == '-' ? begin + 1 : begin;
  const std::size_t digits = at;
  while (at < json.size() && is_digit(json[at])) ++at;
  const bool is_negative_zero = digits > begin && at > digits && json[digits] == '0';
  if (at == digits || at - digits > kPlainDigits || is_negative_zero) return 0;
  const bool is_fraction =
      at < json.size() && (json[at] == '.' || json[at] == 'e' || json[at] == 'E');
  return is_fraction ? 0 : at;
}

/// Appends what most arguments are: arrays of texts and whole numbers, whose one form they have but
/// for white space. False: they are something else, and a part may have been appended.
bool append_plain(std::string_view json, std::string& out) {
  if (json.find('\\') != std::string_view::npos) return false;
  std::size_t begin = 0;  // of what is not appended yet
  std::size_t at = 0;
  while (at < json.size()) {
    const char first = json[at];
    if (first == '"') {
      at = json.find('"', at + 1) + 1;
      if (at == 0) return false;
    } else if (first == '-' || is_digit(first)) {
      at = plain_number_end(json, at);
      if (at == 0) return false;
    } else if (is_json_space(first)) {
      out.append(json, begin, at - begin);
      begin = ++at;
    } else if (first == '[' || first == ']' || first == ',') {
      ++at;
    } else {
      return false;
    }
  }
  out.append(json, begin);
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
