#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Numbers in as few bytes as they need (LEB128). Stored forms are made of them: their bytes must
/// not change.
///
///     varint = *%x80-FF %x00-7F     ; 7 bits a byte, the low ones first
namespace millrace {

/// A varint of 64 bits is not longer.
inline constexpr std::size_t kVarintBytesMax = 10;

/// How many bytes `write_varint` writes.
[[nodiscard]] constexpr std::size_t varint_bytes(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

/// Writes the number to `to`, which has room for it. Answers where it ends.
constexpr char* write_varint(std::uint64_t value, char* to) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<char>(value | 0x80);
  *to++ = static_cast<char>(value);
  return to;
}

inline void append_varint(std::uint64_t value, std::string& out) {
  char bytes[kVarintBytesMax];
  const char* const end = write_varint(value, bytes);
  out.append(bytes, static_cast<std::size_t>(end - bytes));
}

/// Takes a number off the front of `bytes`. nullopt: the bytes end before it does, or it has more
/// than 64 bits; `bytes` is then anywhere.
[[nodiscard]] constexpr std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  // Nearly always it is one byte long.
  if (!bytes.empty() && static_cast<unsigned char>(bytes.front()) < 0x80) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    return byte;
  }
  constexpr int kLastShift = 63;
  std::uint64_t value = 0;
  for (int shift = 0; shift <= kLastShift && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    if (shift == kLastShift && byte > 1) return std::nullopt;
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

/// Signed numbers near zero become small ones, and so short varints.
[[nodiscard]] constexpr std::uint64_t zigzag(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return (bits << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0);
}

[[nodiscard]] constexpr std::int64_t unzigzag(std::uint64_t bits) {
  return static_cast<std::int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
}

}  // namespace millrace
