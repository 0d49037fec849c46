#include "base/duration.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace millrace {
namespace {

/// One more than fits, so that the most negative time does.
constexpr std::uint64_t kMax = std::uint64_t{1} << 63;

/// µ has two code points.
constexpr std::pair<std::string_view, std::uint64_t> kUnits[] = {
    {"ns", 1},
    {"us", 1'000},
    {"\xC2\xB5s", 1'000},
    {"\xCE\xBCs", 1'000},
    {"ms", 1'000'000},
    {"s", 1'000'000'000},
    {"m", 60'000'000'000},
    {"h", 3'600'000'000'000},
    {"d", 86'400'000'000'000},
};

/// What `text` begins with up to the first character for which `ends` is true; removed from it.
template <typename Ends>
std::string_view take_until(std::string_view& text, Ends ends) {
  const auto end = std::find_if(text.begin(), text.end(), ends);
  const std::string_view taken = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(taken.size());
  return taken;
}

std::string_view take_digits(std::string_view& text) {
  return take_until(text, [](char c) { return !is_digit(c); });
}

std::optional<std::uint64_t> whole_of(std::string_view digits, std::uint64_t unit) {
  std::uint64_t value = 0;
  for (const char c : digits) {
    if (value > kMax / 10) return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (value > kMax / unit) return std::nullopt;
  return value * unit;
}

/// As Go computes it: digits that do not fit are left out, and the rest is a double.
std::uint64_t fraction_of(std::string_view digits, std::uint64_t unit) {
  std::uint64_t value = 0;
  double scale = 1;
  for (const char c : digits) {
    const std::uint64_t longer = value * 10 + static_cast<std::uint64_t>(c - '0');
    if (value > (kMax - 1) / 10 || longer > kMax) break;
    value = longer;
    scale *= 10;
  }
  return static_cast<std::uint64_t>(static_cast<double>(value) *
                                    (static_cast<double>(unit) / scale));
}

/// One number with its unit; removed from `text`.
std::optional<std::uint64_t> take_part(std::string_view& text) {
  const std::string_view whole = take_digits(text);
  const bool has_point = text.starts_with('.');
  if (has_point) text.remove_prefix(1);
  const std::string_view fraction = has_point ? take_digits(text) : std::string_view();
  if (whole.empty() && fraction.empty()) return std::nullopt;
  const std::string_view name = take_until(text, [](char c) { return c == '.' || is_digit(c); });
  const auto unit = std::find_if(std::begin(kUnits), std::end(kUnits),
                                 [name](const auto& each) { return each.first == name; });
  if (unit == std::end(kUnits)) return std::nullopt;
  const auto value = whole_of(whole, unit->second);
  if (!value) return std::nullopt;
  return *value + fraction_of(fraction, unit->second);
}

}  // namespace

std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return std::chrono::nanoseconds{};
  if (text.empty()) return std::nullopt;
  std::uint64_t total = 0;
  while (!text.empty()) {
    const auto part = take_part(text);
    if (!part) return std::nullopt;
    total += *part;
    if (total > kMax) return std::nullopt;
  }
  if (total == kMax && !is_negative) return std::nullopt;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(is_negative ? 0 - total : total));
}

}  // namespace millrace
