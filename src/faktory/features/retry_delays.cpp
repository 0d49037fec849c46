#include "faktory/features/retry_delays.hpp"

#include <algorithm>
#include <string>

#include "base/age_units.hpp"
#include "base/number.hpp"
#include "faktory/json/checked_json.hpp"

namespace millrace::faktory {

std::optional<std::uint32_t> parse_delay(std::string_view text) {
  std::uint64_t seconds = 0;
  do {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = parse_number<std::uint32_t>(text.substr(0, digits));
    text.remove_prefix(digits);
    if (!number) return std::nullopt;
    if (text.empty() && seconds == 0) {
      seconds = *number;
      break;
    }
    const auto* const unit = std::ranges::find_if(kAgeUnits, [&](const AgeUnit& each) {
      return !text.empty() && each.letter == text.front();
    });
    if (unit == std::end(kAgeUnits)) return std::nullopt;
    text.remove_prefix(1);
    seconds += *number * unit->seconds;
    if (seconds > kRetryDelayMax) return std::nullopt;
  } while (!text.empty());
  if (seconds == 0 || seconds > kRetryDelayMax) return std::nullopt;
  return static_cast<std::uint32_t>(seconds);
}

std::optional<std::vector<std::uint32_t>> read_retry_delays(std::string_view json) {
  std::vector<std::uint32_t> delays;
  CheckedJson list(json);
  if (!list.take('[')) return std::nullopt;
  while (!list.take(']')) {
    if (!delays.empty() && !list.take(',')) return std::nullopt;
    const bool is_string = list.peek() == '"';
    const std::string_view value = list.take_value();
    const auto delay = parse_delay(is_string ? meaning_of(value) : std::string(value));
    if (!delay || delays.size() == kRetryDelaysMax) return std::nullopt;
    delays.push_back(*delay);
  }
  if (delays.empty()) return std::nullopt;
  return delays;
}

}  // namespace millrace::faktory
