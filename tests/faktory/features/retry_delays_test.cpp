#include "faktory/features/retry_delays.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::faktory {

TEST_CASE("retry delays: seconds, or numbers with units") {
  CHECK(parse_delay("90") == 90);
  CHECK(parse_delay("90s") == 90);
  CHECK(parse_delay("1m30s") == 90);
  CHECK(parse_delay("1.5m") == 90);
  CHECK(parse_delay("1d2h") == 93'600);
  CHECK(parse_delay("365d") == kRetryDelayMax);
}

TEST_CASE("retry delays: what is no time from a second to a year is none") {
  for (const char* text : {"", "0", "0s", "-1", "1.5", "1.5s", "s", "1x", "10 s", "1m30", "366d",
                           "99999999999", "4294967296s"}) {
    CHECK_FALSE(parse_delay(text));
  }
}

TEST_CASE("retry delays: a list of up to a hundred") {
  CHECK(read_retry_delays(R"([ 10 , "1m" ])") == std::vector<std::uint32_t>{10, 60});
  std::string list = "[1";
  for (std::size_t i = 1; i < kRetryDelaysMax; ++i) list += ",1";
  CHECK(read_retry_delays(list + "]")->size() == kRetryDelaysMax);
  CHECK_FALSE(read_retry_delays(list + ",1]"));
  for (const char* json : {"[]", "10", "\"10s\"", "[true]", "[[1]]", "[null]", "[1.5]", "{}", ""}) {
    CHECK_FALSE(read_retry_delays(json));
  }
}

}  // namespace millrace::faktory
