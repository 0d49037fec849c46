#include "base/varint.hpp"

#include <limits>

#include "support/doctest.hpp"

namespace millrace {
namespace {

constexpr std::uint64_t kMax = ~std::uint64_t{0};

std::string varint(std::uint64_t value) {
  std::string out;
  append_varint(value, out);
  return out;
}

std::optional<std::uint64_t> number_in(std::string_view bytes) {
  return take_varint(bytes);
}

}  // namespace

TEST_CASE("varint: the bytes do not change") {
  CHECK(varint(0) == std::string(1, '\0'));
  CHECK(varint(127) == "\x7F");
  CHECK(varint(128) == "\x80\x01");
  CHECK(varint(300) == "\xAC\x02");
  CHECK(varint(kMax) == "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01");
}

TEST_CASE("varint: the size is known without writing") {
  CHECK(varint_bytes(0) == 1);
  CHECK(varint_bytes(127) == 1);
  CHECK(varint_bytes(128) == 2);
  CHECK(varint_bytes(kMax) == kVarintBytesMax);
}

TEST_CASE("varint: what is taken is what was written, and the rest stays") {
  std::string_view bytes = "\xAC\x02rest";
  CHECK(take_varint(bytes) == 300);
  CHECK(bytes == "rest");
  CHECK(number_in(varint(kMax)) == kMax);
}

TEST_CASE("varint: signed numbers near zero become small ones") {
  CHECK(zigzag(0) == 0);
  CHECK(zigzag(-1) == 1);
  CHECK(zigzag(1) == 2);
  CHECK(zigzag(std::numeric_limits<std::int64_t>::min()) == kMax);
  for (const std::int64_t value : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-300},
                                   std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}) {
    CHECK(unzigzag(zigzag(value)) == value);
  }
}

TEST_CASE("varint: bytes that end too early are no number") {
  CHECK_FALSE(number_in(""));
  CHECK_FALSE(number_in("\x80"));
}

TEST_CASE("varint: more than 64 bits are no number") {
  CHECK_FALSE(number_in("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"));
  CHECK_FALSE(number_in("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"));
}

}  // namespace millrace
