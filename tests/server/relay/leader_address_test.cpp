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

TEST_CASE("leader address: ports with the address of an own port are no way to the leader") {
  const std::string_view leader = "beanstalk=a:1 faktory=127.0.0.1:2";
  CHECK(find_leader_port(leader, "beanstalk=b:1", "beanstalk") == Address{.host = "a", .port = 1});
  CHECK_FALSE(find_leader_port(leader, "beanstalk=a:1", "beanstalk"));
  CHECK_FALSE(find_leader_port(leader, "faktory=127.0.0.1:2", "faktory"));
  CHECK_FALSE(find_leader_port(leader, "", "web"));
}

TEST_CASE("leader address: a port on loopback is found by servers with the same loopback") {
  const std::string_view leader = "local-web=127.0.0.1:3 loopback=17";
  CHECK(find_leader_port(leader, "web=b:1 loopback=17", "web") ==
        Address{.host = "127.0.0.1", .port = 3});
  CHECK_FALSE(find_leader_port(leader, "web=b:1 loopback=18", "web"));
  CHECK_FALSE(find_leader_port(leader, "web=b:1", "web"));
  CHECK_FALSE(find_leader_port("local-web=127.0.0.1:3", "web=b:1", "web"));
  CHECK_FALSE(find_port(leader, "web"));
}

TEST_CASE("leader address: reports are for leaders that read their form") {
  CHECK(takes_reports_of("web=a:1 reports=2", "web=b:1 loopback=1 reports=2"));
  CHECK_FALSE(takes_reports_of("web=a:1", "web=b:1 reports=2"));
  CHECK_FALSE(takes_reports_of("web=a:1 reports=3", "web=b:1 reports=2"));
}

TEST_CASE("leader address: ports are shown with what was told of them") {
  const std::string_view leader = "beanstalk=a:1 local-web=127.0.0.1:3";
  CHECK(show_port(leader, "beanstalk") == "beanstalk=a:1");
  CHECK(show_port(leader, "web") == "web=127.0.0.1:3");
  CHECK(show_port(leader, "faktory") == "faktory");
}

}  // namespace millrace::server
