#include "shares.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "base/number.hpp"

namespace bench {
namespace {

constexpr std::size_t kShareMax = 1'000;

constexpr std::size_t kSizeMax = std::size_t{1} << 30;

struct Share {
  std::string name;
  std::int64_t share = 0;
  std::int64_t due = 0;
};

std::size_t number_of(std::string_view text, std::size_t min, std::size_t max) {
  const auto number = millrace::parse_number<std::size_t>(text);
  if (number && *number >= min && *number <= max) return *number;
  throw std::invalid_argument("no number from " + std::to_string(min) + " to " +
                              std::to_string(max) + ": '" + std::string(text) + "'");
}

}  // namespace

std::vector<std::string> expand_shares(std::string_view text) {
  std::vector<Share> shares;
  std::int64_t all = 0;
  while (true) {
    const std::size_t end = text.find(',');
    const std::string_view part = text.substr(0, end);
    const std::size_t colon = part.find(':');
    const std::size_t share =
        colon == std::string_view::npos ? 1 : number_of(part.substr(colon + 1), 1, kShareMax);
    shares.push_back(
        {.name = std::string(part.substr(0, colon)), .share = static_cast<std::int64_t>(share)});
    all += shares.back().share;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  // Whose turn it is has waited longest, by its share.
  std::vector<std::string> turns;
  for (std::int64_t i = 0; i < all; ++i) {
    for (Share& each : shares) each.due += each.share;
    Share& next = *std::ranges::max_element(shares, {}, &Share::due);
    next.due -= all;
    turns.push_back(next.name);
  }
  return turns;
}

std::vector<std::size_t> expand_sizes(std::string_view text) {
  std::vector<std::size_t> sizes;
  for (const std::string& size : expand_shares(text)) sizes.push_back(number_of(size, 0, kSizeMax));
  return sizes;
}

}  // namespace bench
