#include "http/kit/text.hpp"

#include <algorithm>

namespace millrace::http {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char x, char y) { return lower(x) == lower(y); }) != text.end() ||
         part.empty();
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex_digit(char c) {
  return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f');
}

std::string grouped(std::uint64_t number) {
  std::string out = std::to_string(number);
  for (std::size_t left = out.size(); left > 3; left -= 3) out.insert(left - 3, 1, ',');
  return out;
}

std::string count_of(std::uint64_t count, std::string_view what) {
  return concat(grouped(count), " ", what, count == 1 ? "" : "s");
}

bool has_broken_escape(std::string_view address) {
  for (std::size_t at = address.find('%'); at != address.npos; at = address.find('%', at + 1)) {
    const std::string_view digits = address.substr(at + 1, 2);
    if (digits.size() < 2 || !is_hex_digit(digits[0]) || !is_hex_digit(digits[1])) return true;
  }
  return false;
}

std::string hex(std::uint64_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(16, '0');
  for (auto digit = out.rbegin(); digit != out.rend(); ++digit, number >>= 4) {
    *digit = kDigits[number & 15];
  }
  return out;
}

std::string base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += k <= count ? kBase64[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  std::uint32_t bits = 0;
  int bit_count = 0;
  for (const char c : text) {
    const std::size_t value = kBase64.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = (bits << 6 | static_cast<std::uint32_t>(value)) & 0xFFFFFF;
    bit_count += 6;
    if (bit_count < 8) continue;
    bit_count -= 8;
    out += static_cast<char>(bits >> bit_count);
  }
  return out;
}

}  // namespace millrace::http
