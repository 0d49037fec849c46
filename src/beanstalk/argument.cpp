#include "beanstalk/argument.hpp"

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "beanstalk/command.hpp"

namespace millrace::beanstalk {
namespace {

constexpr std::string_view kWhitespace = " \t\n\v\f\r";

bool is_tube_character(char byte) {
  return is_digit(byte) || is_letter(byte) ||
         std::string_view{"-+/;.$_()"}.find(byte) != std::string_view::npos;
}

void drop_spaces(std::string_view& rest) {
  while (rest.starts_with(' ')) rest.remove_prefix(1);
}

/// 1*DIGIT, at most `max`.
std::optional<std::uint64_t> take_digits(std::string_view& rest, std::uint64_t max) {
  std::uint64_t number = 0;
  const char* const end = rest.data() + rest.size();
  // from_chars takes no sign and no white space, as the grammar asks for.
  const auto [after, error] = std::from_chars(rest.data(), end, number);
  if (error != std::errc{} || number > max) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(after - rest.data()));
  return number;
}

}  // namespace

std::optional<std::uint64_t> take_number(std::string_view& rest, std::uint64_t max) {
  drop_spaces(rest);
  return take_digits(rest, max);
}

std::optional<std::uint32_t> take_u32(std::string_view& rest, std::uint32_t max) {
  auto number = take_number(rest, max);
  if (!number) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

std::optional<std::uint64_t> take_u64(std::string_view& rest) {
  return take_number(rest, std::numeric_limits<std::uint64_t>::max());
}

std::optional<std::uint32_t> take_lenient_bound(std::string_view& rest) {
  // As strtoul, with which beanstalkd reads this one number.
  rest.remove_prefix(std::min(rest.find_first_not_of(kWhitespace), rest.size()));
  bool is_negative = rest.starts_with('-');
  if (is_negative || rest.starts_with('+')) rest.remove_prefix(1);
  auto number = take_digits(rest, std::numeric_limits<std::uint64_t>::max());
  if (!number) return std::nullopt;
  // Cut to 32 bits like there: `kick -1` kicks as many as there are.
  return static_cast<std::uint32_t>(is_negative ? 0 - *number : *number);
}

std::string_view take_tube_characters(std::string_view& rest) {
  drop_spaces(rest);
  auto end = std::find_if_not(rest.begin(), rest.end(), is_tube_character);
  std::string_view name = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  rest.remove_prefix(name.size());
  return name;
}

bool is_tube_name(std::string_view name) {
  return !name.empty() && name.size() <= kTubeNameBytesMax && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), is_tube_character);
}

}  // namespace millrace::beanstalk
