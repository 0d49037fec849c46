#include "server/net/address.hpp"

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

TEST_CASE("address: host and port") {
  CHECK(*parse_address("127.0.0.1:11300") == Address{.host = "127.0.0.1", .port = 11300});
  CHECK(*parse_address("localhost:0") == Address{.host = "localhost", .port = 0});
  CHECK(*parse_address("[::1]:65535") == Address{.host = "::1", .port = 65535});
}

TEST_CASE("address: a port alone, or behind a star, is on every address") {
  CHECK(parse_address(":7419").value() == Address{.port = 7419});
  CHECK(parse_address("*:7419").value() == Address{.port = 7419});
  CHECK(parse_address(":7419").value().is_everywhere());
  CHECK(parse_address(":7419").value().text() == ":7419");
  CHECK_FALSE(parse_address("0.0.0.0:7419").value().is_everywhere());
  CHECK_FALSE(parse_address("unix:/run/x").value().is_everywhere());
}

TEST_CASE("address: a unix socket's path") {
  CHECK(parse_address("unix:/run/a:b").value().path == "/run/a:b");
  CHECK(parse_address("unix:/run/x").value().is_unix());
}

TEST_CASE("address: is written as it is read") {
  CHECK(parse_address("127.0.0.1:1").value().text() == "127.0.0.1:1");
  CHECK(parse_address("[::1]:1").value().text() == "[::1]:1");
  CHECK(parse_address("unix:x.sock").value().text() == "unix:x.sock");
}

TEST_CASE("address: nonsense is refused and quoted") {
  CHECK_FALSE(parse_address(""));
  CHECK_FALSE(parse_address("11300"));
  CHECK_FALSE(parse_address(":"));
  CHECK_FALSE(parse_address("*"));
  CHECK_FALSE(parse_address("[*]"));
  CHECK_FALSE(parse_address("[]:1"));
  CHECK_FALSE(parse_address("::1:11300"));
  CHECK_FALSE(parse_address("host:"));
  CHECK_FALSE(parse_address("host:65536"));
  CHECK_FALSE(parse_address("host:-1"));
  CHECK_FALSE(parse_address("host:1x"));
  CHECK(parse_address("host:99999").error().text == "'99999' is not a port: a number up to 65535");
  CHECK(parse_address("nonsense").error().text ==
        "'nonsense' is not HOST:PORT, :PORT, [IPV6]:PORT or unix:PATH");
}

TEST_CASE("address: a unix path of 107 bytes fits, one of 108 does not") {
  CHECK(parse_address("unix:" + std::string(107, 'p')));
  CHECK_FALSE(parse_address("unix:" + std::string(108, 'p')));
  CHECK_FALSE(parse_address("unix:"));
}

}  // namespace
TEST_CASE("address: a host alone may have brackets") {
  CHECK(without_brackets("[::1]") == "::1");
  CHECK(without_brackets("::1") == "::1");
  CHECK(without_brackets("[]") == "");
  CHECK(without_brackets("[") == "[");
}

}  // namespace millrace::server
