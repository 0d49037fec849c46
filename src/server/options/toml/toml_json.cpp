#include "server/options/toml/toml_json.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/check.hpp"
#include "faktory/json/text.hpp"

namespace millrace::server {
namespace {

using Appended = Result<Done, NoJson>;

/// A number with a point or an exponent: a reader shall not take it for a whole one.
void append_fraction(double value, std::string& out) {
  std::array<char, 32> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  CHECK(error == std::errc{});
  const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

Appended append_array(const toml::array& array, std::string& out) {
  out += '[';
  bool is_first = true;
  for (const toml::node& element : array) {
    if (!is_first) out += ',';
    is_first = false;
    if (auto appended = append_json(element, out); !appended) return appended;
  }
  out += ']';
  return Done{};
}

Appended append_table(const toml::table& table, std::string& out) {
  out += '{';
  bool is_first = true;
  for (const auto& [key, value] : table) {
    if (!is_first) out += ',';
    is_first = false;
    faktory::append_json_string(key.str(), out);
    out += ':';
    if (auto appended = append_json(value, out); !appended) return appended;
  }
  out += '}';
  return Done{};
}

}  // namespace

/// The parser limits the depth of tables, so recursion is safe.
Result<Done, NoJson> append_json(const toml::node& value, std::string& out) {
  if (const auto* array = value.as_array()) return append_array(*array, out);
  if (const auto* table = value.as_table()) return append_table(*table, out);
  if (const auto* string = value.as_string()) {
    faktory::append_json_string(string->get(), out);
  } else if (const auto* number = value.as_integer()) {
    out += std::to_string(number->get());
  } else if (const auto* boolean = value.as_boolean()) {
    out += boolean->get() ? "true" : "false";
  } else if (const auto* fraction = value.as_floating_point();
             fraction != nullptr && std::isfinite(fraction->get())) {
    append_fraction(fraction->get(), out);
  } else {
    const char* const what = fraction != nullptr ? "inf and nan" : "dates and times without quotes";
    return NoJson{std::string("JSON has no ") + what, value.source().begin.line};
  }
  return Done{};
}

}  // namespace millrace::server
