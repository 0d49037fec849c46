#include "core/broker/jobs/retry_policy.hpp"

#include <algorithm>

namespace millrace {
namespace {

/// 200^4 s are 50 years; much more would not fit into a time.
constexpr std::int64_t kCountMax = 200;
/// The random part is below 30 s for each retry, as in Faktory.
constexpr std::uint64_t kChances = 30;

Failure count_up(std::int64_t retry, const Failure* previous, Time now) {
  Failure failure;
  if (previous == nullptr) {
    failure.failed_at = now;
    failure.remaining = retry;
    return failure;
  }
  failure = *previous;
  // The count may come from another server, and so be any number.
  if (failure.retry_count < INT64_MAX) ++failure.retry_count;
  // Kept for clients that read it. `retry_count` decides.
  if (failure.remaining > 0) --failure.remaining;
  return failure;
}

}  // namespace

Duration back_off(std::int64_t count, std::uint64_t chance) {
  const std::int64_t c = std::clamp<std::int64_t>(count, 0, kCountMax);
  const auto random = static_cast<std::int64_t>(chance % kChances);
  // The formula of Faktory and Sidekiq. The random part spreads jobs that failed together.
  return std::chrono::seconds(c * c * c * c + 15 + random * (c + 1));
}

Duration retry_delay(std::int64_t count, const RetryChance& chance) {
  const Duration usual = back_off(count, chance.chance);
  if (chance.delays == nullptr) return usual;
  const std::vector<std::uint32_t>& seconds = chance.delays->seconds;
  if (!seconds.empty()) {
    const auto last = static_cast<std::int64_t>(seconds.size()) - 1;
    return std::chrono::seconds(
        seconds[static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, last))]);
  }
  // More would not fit into a time.
  const double longest = std::chrono::duration<double>(back_off(kCountMax, 0)).count();
  const double wanted = std::chrono::duration<double>(usual).count() * chance.delays->factor;
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::min(wanted, longest) * 1000));
}

std::optional<Verdict> judge(std::int64_t retry, const Failure* previous, Time now,
                             const RetryChance& chance) {
  if (retry == 0) return std::nullopt;
  Verdict verdict;
  verdict.failure = count_up(retry, previous, now);
  // `retry` -1 asks for no retry, and for a place in the dead set.
  if (retry < 0 || verdict.failure.retry_count >= retry) {
    verdict.state = JobState::kDead;
    return verdict;
  }
  verdict.failure.next_at = now + retry_delay(verdict.failure.retry_count, chance);
  return verdict;
}

}  // namespace millrace
