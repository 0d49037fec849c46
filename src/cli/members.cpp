#include "cli/members.hpp"

#include <cmath>
#include <cstdio>

#include "cli/show/times.hpp"
#include "http/kit/text.hpp"

namespace millrace::cli {

const Json& member(const Json& object, std::string_view name) {
  static const Json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(std::string(name));
  return found == object.end() ? kNothing : *found;
}

std::string text_at(const Json& object, std::string_view name) {
  const Json& found = member(object, name);
  if (found.is_string()) return found.get<std::string>();
  return found.is_number() ? found.dump() : "";
}

std::uint64_t count_at(const Json& object, std::string_view name) {
  const Json& found = member(object, name);
  return found.is_number_unsigned() ? found.get<std::uint64_t>() : 0;
}

std::string joined_at(const Json& object, std::string_view name) {
  std::string all;
  for (const Json& text : member(object, name)) {
    if (text.is_string()) all += (all.empty() ? "" : " ") + text.get<std::string>();
  }
  return all;
}

bool is_at(const Json& object, std::string_view name) {
  const Json& found = member(object, name);
  return found.is_boolean() && found.get<bool>();
}

std::string figure_at(const Json& object, std::string_view name) {
  return http::grouped(count_at(object, name));
}

std::string rate_at(const Json& object, std::string_view name) {
  constexpr double kWholeFrom = 10;
  const Json& found = member(object, name);
  const double rate = found.is_number() ? found.get<double>() : 0;
  if (rate <= 0) return "0";
  if (rate >= kWholeFrom) return http::grouped(static_cast<std::uint64_t>(std::llround(rate)));
  char text[32];
  std::snprintf(text, sizeof text, rate < 0.05 ? "<0.1" : "%.1f", rate);
  return text;
}

std::string length_at(const Json& object, std::string_view name) {
  constexpr double kWholeFrom = 10;
  const Json& found = member(object, name);
  if (!found.is_number()) return "";
  const auto seconds = found.get<double>();
  if (seconds >= kWholeFrom) return show_age(static_cast<std::int64_t>(seconds * 1000));
  char text[32];
  std::snprintf(text, sizeof text, "%.1fs", seconds);
  return text;
}

std::string age_at(const Json& object, std::string_view name, std::int64_t now_ms) {
  const auto time = parse_time_ms(text_at(object, name));
  return time ? show_age(now_ms - *time) : "";
}

std::string wait_at(const Json& object, std::string_view name, std::int64_t now_ms) {
  const auto time = parse_time_ms(text_at(object, name));
  return time ? show_age(*time - now_ms) : "";
}

}  // namespace millrace::cli
