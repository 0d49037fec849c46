#include "core/model/features/bid.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/base64.hpp"

namespace millrace {
namespace {

constexpr std::string_view kStart = "b-";
constexpr std::size_t kCharacters = 14;
constexpr std::size_t kNumberBytes = 8;

/// The upper bits of a product with the golden ratio: it fills ten bytes, and a mistyped name is
/// rarely one.
std::uint64_t sum_of(JobBatchId id) {
  return (id * 0x9e3779b97f4a7c15u) >> 48;
}

}  // namespace

std::string format_bid(JobBatchId id) {
  std::string bytes;
  for (std::size_t i = 0; i < kNumberBytes; ++i) bytes += static_cast<char>(id >> 8 * i);
  bytes += static_cast<char>(sum_of(id));
  bytes += static_cast<char>(sum_of(id) >> 8);
  std::string text = base64(bytes).substr(0, kCharacters);
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return std::string(kStart) + text;
}

std::optional<JobBatchId> parse_bid(std::string_view text) {
  if (!text.starts_with(kStart) || text.size() != kStart.size() + kCharacters) return std::nullopt;
  std::string coded(text.substr(kStart.size()));
  // Base64url has none of these.
  if (coded.find_first_of("+/=") != std::string::npos) return std::nullopt;
  std::ranges::replace(coded, '-', '+');
  std::ranges::replace(coded, '_', '/');
  const std::optional<std::string> bytes = from_base64(coded);
  if (!bytes || bytes->size() != kNumberBytes + 2) return std::nullopt;
  JobBatchId id = 0;
  for (std::size_t i = 0; i < kNumberBytes; ++i) {
    id |= JobBatchId{static_cast<std::uint8_t>((*bytes)[i])} << 8 * i;
  }
  // Compared as a whole: so each batch has one name.
  return id != 0 && format_bid(id) == text ? std::optional(id) : std::nullopt;
}

}  // namespace millrace
