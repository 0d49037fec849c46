#include "core/model/features/bid.hpp"

#include <array>
#include <cstddef>

namespace millrace {
namespace {

constexpr std::string_view kStart = "b-";
constexpr std::size_t kCharacters = 14;
/// Base64url (RFC 4648, section 5).
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The value of each character; 64: it is none of the alphabet.
constexpr auto kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(64);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}();

/// The upper bits of a product with the golden ratio: it fills ten bytes, and a mistyped name is
/// rarely one.
std::uint16_t sum_of(JobBatchId id) {
  return static_cast<std::uint16_t>((id * 0x9e3779b97f4a7c15u) >> 48);
}

/// The number, its lowest byte first, and the sum likewise.
std::array<std::uint8_t, 10> bytes_of(JobBatchId id) {
  std::array<std::uint8_t, 10> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(id >> 8 * i);
  bytes[8] = static_cast<std::uint8_t>(sum_of(id));
  bytes[9] = static_cast<std::uint8_t>(sum_of(id) >> 8);
  return bytes;
}

/// The bits of up to ten characters, six of each; nullopt: one of them is none of the alphabet.
std::optional<std::uint64_t> bits_of(std::string_view text) {
  std::uint64_t bits = 0;
  for (const char character : text) {
    const std::uint8_t value = kValues[static_cast<unsigned char>(character)];
    if (value == 64) return std::nullopt;
    bits = bits << 6 | value;
  }
  return bits;
}

}  // namespace

std::string format_bid(JobBatchId id) {
  std::string text(kStart);
  unsigned bits = 0;
  int count = 0;
  for (const std::uint8_t byte : bytes_of(id)) {
    bits = bits << 8 | byte;
    for (count += 8; count >= 6; count -= 6) text += kAlphabet[bits >> (count - 6) & 63];
  }
  text += kAlphabet[bits << (6 - count) & 63];
  return text;
}

std::optional<JobBatchId> parse_bid(std::string_view text) {
  if (!text.starts_with(kStart) || text.size() != kStart.size() + kCharacters) return std::nullopt;
  text.remove_prefix(kStart.size());
  const auto first = bits_of(text.substr(0, 10));
  const auto last = bits_of(text.substr(10));
  if (!first || !last) return std::nullopt;
  const JobBatchId id = __builtin_bswap64(*first << 4 | *last >> 20);
  const std::uint16_t sum = __builtin_bswap16(static_cast<std::uint16_t>(*last >> 4));
  // The bits that are left over must be zero: so each batch has one name.
  const bool is_name = (*last & 15) == 0 && sum == sum_of(id);
  return id != 0 && is_name ? std::optional(id) : std::nullopt;
}

}  // namespace millrace
