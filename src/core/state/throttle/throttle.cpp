#include "core/state/throttle/throttle.hpp"

#include <algorithm>

namespace millrace {

std::optional<std::uint64_t> Throttle::free(Time now) const {
  std::optional<std::uint64_t> least;
  if (limits.concurrency != 0) least = limits.concurrency - std::min(taken(), limits.concurrency);
  if (limits.has_rate()) {
    const std::uint64_t tokens = TokenBucket(limits).tokens(full_at, now);
    least = std::min(least.value_or(tokens), tokens);
  }
  return least;
}

}  // namespace millrace
