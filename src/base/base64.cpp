#include "base/base64.hpp"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>
#include <absl/strings/string_view.h>

#include <algorithm>

namespace millrace {

std::string base64(std::string_view bytes) {
  return absl::Base64Escape({bytes.data(), bytes.size()});
}

std::optional<std::string> from_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  // Abseil takes more than the alphabet: it skips white space, and reads a full stop as padding.
  const bool is_of_alphabet = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '+' || c == '/';
  });
  std::string bytes;
  if (!is_of_alphabet || !absl::Base64Unescape({text.data(), text.size()}, &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

}  // namespace millrace
