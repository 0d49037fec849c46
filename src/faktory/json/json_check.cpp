#include "faktory/json/json_check.hpp"

#include <cstdint>

#include "base/number.hpp"
#include "base/text.hpp"
#include "faktory/json/object_reader.hpp"
#include "faktory/json/text.hpp"

namespace millrace::faktory {
namespace {

namespace ondemand = simdjson::ondemand;

using MaybeProblem = std::optional<Problem>;

std::size_t digit_count(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  return count;
}

/// Takes digits off the front; false when there are none.
bool take_digits(std::string_view& text) {
  const std::size_t count = digit_count(text);
  text.remove_prefix(count);
  return count > 0;
}

/// Takes the character, or the other one.
bool take(char character, char other, std::string_view& text) {
  if (text.empty() || (text.front() != character && text.front() != other)) return false;
  text.remove_prefix(1);
  return true;
}
bool take(char character, std::string_view& text) {
  return take(character, character, text);
}

/// number = [ "-" ] ( "0" / digit1-9 *digit ) [ "." 1*digit ] [ ("e"/"E") [ "+"/"-" ] 1*digit ]
bool is_number(std::string_view text) {
  take('-', text);
  const bool starts_with_zero = take('0', text);
  if (!starts_with_zero && !take_digits(text)) return false;
  if (take('.', text) && !take_digits(text)) return false;
  if (take('e', 'E', text)) {
    take('+', '-', text);
    if (!take_digits(text)) return false;
  }
  return text.empty();
}

/// The check calls itself: the stack must not depend on a client.
Problem too_deep() {
  return Problem{"nested deeper than " + std::to_string(kNestingMax) + " levels"};
}

MaybeProblem check(ondemand::value value, std::size_t depth);

MaybeProblem check_array(ondemand::value value, std::size_t depth) {
  ondemand::array array;
  if (const auto error = value.get_array().get(array)) return json_problem(error);
  for (auto element : array) {
    ondemand::value inner;
    if (const auto error = element.get(inner)) return json_problem(error);
    if (MaybeProblem problem = check(inner, depth + 1)) return problem;
  }
  return std::nullopt;
}

/// Visits the members of an object, with what their names mean. `visit` answers what is wrong.
template <typename Visit>
MaybeProblem visit_members(ondemand::value value, const Visit& visit) {
  ondemand::object object;
  if (const auto error = value.get_object().get(object)) return json_problem(error);
  for (auto member : object) {
    ondemand::field field;
    std::string_view name;
    if (const auto error = std::move(member).get(field)) return json_problem(error);
    if (const auto error = field.unescaped_key().get(name)) return json_problem(error);
    if (MaybeProblem problem = visit(name, field.value())) return problem;
  }
  return std::nullopt;
}

MaybeProblem check_members(ondemand::value value, std::size_t depth) {
  return visit_members(value, [depth](std::string_view, ondemand::value member) {
    return check(member, depth + 1);
  });
}

MaybeProblem check_scalar(ondemand::value value, ondemand::json_type type) {
  const std::string_view token = raw_token(value);
  if (type == ondemand::json_type::string) {
    std::string_view text;
    if (const auto error = value.get_string().get(text)) return json_problem(error);
    return std::nullopt;
  }
  const bool is_valid = type == ondemand::json_type::number
                            ? is_number(token)
                            : token == "true" || token == "false" || token == "null";
  // simdjson on demand does not look at scalars that nobody reads, and we store them.
  if (!is_valid) return Problem{"invalid literal " + one_line(token.substr(0, 40))};
  return std::nullopt;
}

MaybeProblem check(ondemand::value value, std::size_t depth) {
  if (depth >= kNestingMax) return too_deep();
  ondemand::json_type type;
  if (const auto error = value.type().get(type)) return json_problem(error);
  if (type == ondemand::json_type::array) return check_array(value, depth);
  if (type == ondemand::json_type::object) return check_members(value, depth);
  return check_scalar(value, type);
}

Outcome<std::string_view> text_since(const char* begin, ondemand::document& document) {
  const char* end = nullptr;
  if (const auto error = document.current_location().get(end)) return json_problem(error);
  return std::string_view(begin, static_cast<std::size_t>(end - begin));
}

}  // namespace

Problem json_problem(simdjson::error_code error) {
  if (error == simdjson::EMPTY || error == simdjson::INCOMPLETE_ARRAY_OR_OBJECT) {
    return Problem{"unexpected end of JSON input"};
  }
  // Newer versions put the name of the error first.
  std::string_view text = simdjson::error_message(error);
  const std::size_t name = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
  if (name != text.npos && name > 0 && text.substr(name).starts_with(": ")) {
    text.remove_prefix(name + 2);
  }
  return Problem{one_line(text)};
}

bool is_at_end(ondemand::document& document) {
  return document.current_location().error() == simdjson::OUT_OF_BOUNDS;
}

std::string_view raw_token(ondemand::value value) {
  std::string_view token = value.raw_json_token();
  // simdjson's token includes the white space after it.
  while (!token.empty() && is_json_space(token.back())) token.remove_suffix(1);
  return token;
}

std::string_view raw_string(const char* inside) {
  const char* end = inside;
  // simdjson has found the closing quote, so the search ends.
  while (*end != '"') end += *end == '\\' ? 2 : 1;
  return {inside - 1, static_cast<std::size_t>(end - inside) + 2};
}

std::optional<std::int64_t> parse_integer(std::string_view token) {
  if (!is_number(token)) return std::nullopt;
  return parse_number<std::int64_t>(token);
}

Problem too_many_members() {
  return Problem{"a job of more than " + std::to_string(kMembersMax) + " members"};
}

Outcome<std::string_view> check_value(ondemand::document& document, ondemand::value value,
                                      std::size_t depth) {
  const std::string_view token = raw_token(value);
  if (std::optional<Problem> problem = check(value, depth)) return *problem;
  return token == "[" || token == "{" ? text_since(token.data(), document) : token;
}

Outcome<std::string_view> check_object(
    ondemand::document& document, ondemand::value value, std::size_t depth,
    absl::FunctionRef<void(std::string_view name, std::string_view raw)> visit) {
  if (depth >= kNestingMax) return too_deep();
  const char* const begin = raw_token(value).data();
  const auto take = [&](std::string_view name, ondemand::value member) -> MaybeProblem {
    const Outcome<std::string_view> raw = check_value(document, member, depth + 1);
    if (!raw) return raw.error();
    visit(name, *raw);
    return std::nullopt;
  };
  if (MaybeProblem problem = visit_members(value, take)) return *problem;
  return text_since(begin, document);
}

}  // namespace millrace::faktory
