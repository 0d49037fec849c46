#include "cli/show/times.hpp"

#include <chrono>

#include "base/duration.hpp"
#include "http/kit/text.hpp"

namespace millrace::cli {
namespace {

/// About a hundred years.
constexpr std::uint64_t kSecondsMax = std::uint64_t{100} * 366 * 86'400;

struct AgeUnit {
  char letter;
  std::uint64_t seconds;
};

/// The largest first.
constexpr AgeUnit kAgeUnits[] = {{'d', 86'400}, {'h', 3600}, {'m', 60}, {'s', 1}};

}  // namespace

std::optional<std::uint64_t> parse_seconds(std::string_view text) {
  const auto time = parse_whole<std::chrono::seconds>(text);
  const auto seconds = static_cast<std::uint64_t>(time ? time->count() : 0);
  return seconds > 0 && seconds <= kSecondsMax ? std::optional(seconds) : std::nullopt;
}

std::optional<std::int64_t> parse_time_ms(std::string_view text) {
  return text.find('.') == text.npos ? std::nullopt : http::parse_utc_ms(text);
}

std::string show_time_ms(std::int64_t time_ms) {
  using namespace std::chrono;
  return http::utc_text(sys_time<milliseconds>(milliseconds(time_ms)));
}

std::string show_age(std::int64_t age_ms) {
  const bool is_negative = age_ms <= -1000;
  const auto seconds = static_cast<std::uint64_t>(age_ms < 0 ? -age_ms : age_ms) / 1000;
  for (const AgeUnit& unit : kAgeUnits) {
    if (seconds < unit.seconds) continue;
    return (is_negative ? "-" : "") + std::to_string(seconds / unit.seconds) + unit.letter;
  }
  return "0s";
}

}  // namespace millrace::cli
