#include "server/relay/leader_address.hpp"

#include "support/doctest.hpp"

namespace millrace::server {

TEST_CASE("leader address: the port of a name") {
  const std::string_view notes = "beanstalk=a:1 faktory=[::1]:2 web=c:3";
  CHECK(find_port(notes, "beanstalk") == Address{.host = "a", .port = 1});
  CHECK(find_port(notes, "faktory") == Address{.host = "::1", .port = 2});
  CHECK(find_port(notes, "web") == Address{.host = "c", .port = 3});
}

TEST_CASE("leader address: none where nothing fits") {
  CHECK_FALSE(find_port("", "web"));
  CHECK_FALSE(find_port("web", "web"));
  CHECK_FALSE(find_port("web=", "web"));
  CHECK_FALSE(find_port("web=a:0", "web"));
  CHECK_FALSE(find_port("web=unix:/tmp/a", "web"));
  CHECK_FALSE(find_port("web=a:99999", "web"));
  CHECK_FALSE(find_port("  web2=a:1 =a:2", "web"));
}

}  // namespace millrace::server
