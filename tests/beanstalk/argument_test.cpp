#include "beanstalk/argument.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::beanstalk {
namespace {

std::optional<std::uint32_t> u32(std::string_view text) {
  return take_u32(text);
}
std::optional<std::uint64_t> u64(std::string_view text) {
  return take_u64(text);
}
std::optional<std::uint32_t> bound(std::string_view text) {
  return take_lenient_bound(text);
}

}  // namespace

TEST_CASE("number: leading zeros and spaces are allowed") {
  CHECK(u32("0") == 0);
  CHECK(u32("   7") == 7);
  CHECK(u32("0000000000000000000000000000000000012") == 12);
}

TEST_CASE("number: signs, tabs and other bases are refused") {
  CHECK(!u32(""));
  CHECK(!u32(" "));
  CHECK(!u32("+1"));
  CHECK(!u32("-1"));
  CHECK(!u32("\t1"));
  CHECK(!u32("x1"));
}

TEST_CASE("number: the largest is allowed and one more is refused") {
  CHECK(u32("4294967295") == 4294967295u);
  CHECK(!u32("4294967296"));
  CHECK(u64("18446744073709551615") == 18446744073709551615u);
  CHECK(!u64("18446744073709551616"));
  CHECK(!u64("99999999999999999999999999"));
}

TEST_CASE("number: what follows the digits is left") {
  std::string_view rest = "12 abc";
  CHECK(take_u32(rest) == 12);
  CHECK(rest == " abc");
}

TEST_CASE("bound: white space and a sign may come before it") {
  CHECK(bound(" \t\v\f5") == 5);
  CHECK(bound("+5") == 5);
  CHECK(bound("-5") == 4294967291u);
  CHECK(!bound("+-5"));
  CHECK(!bound("abc"));
  CHECK(!bound(""));
}

TEST_CASE("bound: is cut to 32 bits") {
  CHECK(bound("4294967296") == 0);
  CHECK(bound("4294967297") == 1);
  CHECK(bound("-4294967295") == 1);
  CHECK(!bound("18446744073709551616"));
}

TEST_CASE("tube: 1 to 200 of the allowed bytes, not starting with a minus") {
  CHECK(is_tube_name("a"));
  CHECK(is_tube_name("A-Z0+9/;.$_()"));
  CHECK(is_tube_name(std::string(200, 't')));
  CHECK(!is_tube_name(std::string(201, 't')));
  CHECK(!is_tube_name(""));
  CHECK(!is_tube_name("-a"));
  CHECK(!is_tube_name("a b"));
  CHECK(!is_tube_name("a,b"));
  CHECK(!is_tube_name("\xc3\xa4"));
}

TEST_CASE("tube characters: leading spaces are dropped, the rest is left") {
  std::string_view rest = "  abc 12";
  CHECK(take_tube_characters(rest) == "abc");
  CHECK(rest == " 12");
}

}  // namespace millrace::beanstalk
