#include "faktory/features/retry_delays.hpp"

#include <chrono>
#include <string>

#include "base/duration.hpp"
#include "faktory/json/checked_json.hpp"

namespace millrace::faktory {

std::optional<std::uint32_t> parse_delay(std::string_view text) {
  const auto delay = parse_whole<std::chrono::seconds>(text);
  if (!delay || delay->count() == 0 || delay->count() > kRetryDelayMax) return std::nullopt;
  return static_cast<std::uint32_t>(delay->count());
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
