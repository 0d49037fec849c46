#include "http/kit/text.hpp"

#include "base/text.hpp"

namespace millrace::http {
std::string grouped(std::uint64_t number) {
  std::string out = std::to_string(number);
  for (std::size_t left = out.size(); left > 3; left -= 3) out.insert(left - 3, 1, ',');
  return out;
}

std::string count_of(std::uint64_t count, std::string_view what) {
  return concat(grouped(count), " ", what, count == 1 ? "" : "s");
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (is_letter(c) || is_digit(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kDigits[byte / 16], kDigits[byte % 16]};
  }
  return out;
}

bool has_broken_escape(std::string_view address) {
  for (std::size_t at = address.find('%'); at != address.npos; at = address.find('%', at + 1)) {
    const std::string_view digits = address.substr(at + 1, 2);
    if (digits.size() < 2 || !is_hex_digit(digits[0]) || !is_hex_digit(digits[1])) return true;
  }
  return false;
}

}  // namespace millrace::http
