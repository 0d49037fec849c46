#include <string>
#include <string_view>

#include "server/options/tables/cron_config.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// The JSON of what is assigned to `x`.
Result<std::string, NoJson> json_of(std::string_view value) {
  const toml::parse_result parsed = toml::parse("x = " + std::string(value));
  REQUIRE(parsed);
  std::string json;
  if (auto appended = append_json(*parsed.table().get("x"), json); !appended) {
    return appended.error();
  }
  return json;
}

}  // namespace

TEST_CASE("TOML to JSON: whole numbers stay exact") {
  CHECK(*json_of("9223372036854775807") == "9223372036854775807");
  CHECK(*json_of("-9223372036854775808") == "-9223372036854775808");
  CHECK(*json_of("9007199254740993") == "9007199254740993");
  CHECK(*json_of("0xff") == "255");
}

TEST_CASE("TOML to JSON: a fraction stays one") {
  CHECK(*json_of("1.0") == "1.0");
  CHECK(*json_of("0.1") == "0.1");
  CHECK(*json_of("-2.5e300") == "-2.5e+300");
}

TEST_CASE("TOML to JSON: texts, truths, lists and tables") {
  CHECK(*json_of(R"("a \"b\" \u00e4\n")") == "\"a \\\"b\\\" \xC3\xA4\\n\"");
  CHECK(*json_of("[true, false, []]") == "[true,false,[]]");
  CHECK(*json_of("{ b = 1, a = { c = \"x\" } }") == R"({"a":{"c":"x"},"b":1})");
  CHECK(*json_of("[['['], 1]") == R"([["["],1])");
  CHECK(*json_of("{}") == "{}");
}

TEST_CASE("TOML to JSON: what JSON does not have is named with its line") {
  CHECK(json_of("2027-01-01").error().why == "JSON has no dates and times without quotes");
  CHECK(json_of("07:30:00").error().why == "JSON has no dates and times without quotes");
  CHECK(json_of("[\n1,\ninf]").error().why == "JSON has no inf and nan");
  CHECK(json_of("[\n1,\ninf]").error().line == 3);
}

}  // namespace millrace::server
