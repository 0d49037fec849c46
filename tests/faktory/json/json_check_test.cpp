#include "faktory/json/json_check.hpp"

#include <string>

#include "faktory/json/object_reader.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

/// The raw text of a value in a list, or the problem with it.
std::string checked(const std::string& value, std::size_t depth = 1) {
  const simdjson::padded_string text("[" + value + "]");
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  REQUIRE(parser.iterate(text).get(document) == simdjson::SUCCESS);
  simdjson::ondemand::array array;
  REQUIRE(document.get_array().get(array) == simdjson::SUCCESS);
  simdjson::ondemand::value first;
  REQUIRE((*array.begin()).get(first) == simdjson::SUCCESS);
  const auto raw = check_value(document, first, depth);
  return raw ? std::string(*raw) : "problem: " + raw.error().text;
}

bool is_fine(const std::string& value) {
  return !checked(value).starts_with("problem");
}

}  // namespace

TEST_CASE("json check: the raw text of a value is as it was sent") {
  CHECK(checked("1.50") == "1.50");
  CHECK(checked("{\"a\" : [1, 2]}") == "{\"a\" : [1, 2]}");
  CHECK(checked("true") == "true");
}

TEST_CASE("json check: numbers and literals in the grammar of JSON only") {
  CHECK(is_fine("-0.5e+10"));
  CHECK_FALSE(is_fine("01"));
  CHECK_FALSE(is_fine("1."));
  CHECK_FALSE(is_fine("1e"));
  CHECK_FALSE(is_fine("-"));
  CHECK_FALSE(is_fine("truth"));
}

TEST_CASE("json check: what is wrong deep inside is found") {
  CHECK_FALSE(is_fine(R"([{"a":[01]}])"));
  CHECK_FALSE(is_fine(R"([{"a":"\x"}])"));
}

TEST_CASE("json check: nesting at the limit and one past it") {
  CHECK(checked("1", kNestingMax - 1) == "1");
  CHECK(checked("1", kNestingMax) == "problem: nested deeper than 512 levels");
}

TEST_CASE("parse_integer: at its limits and one past them") {
  CHECK(parse_integer("9223372036854775807") == INT64_MAX);
  CHECK_FALSE(parse_integer("9223372036854775808"));
  CHECK_FALSE(parse_integer("1.0"));
  CHECK_FALSE(parse_integer("01"));
}

TEST_CASE("raw_string: an escaped quote does not end it") {
  const std::string text = R"("a\"b" rest)";
  CHECK(raw_string(text.data() + 1) == R"("a\"b")");
}

}  // namespace millrace::faktory
