#include "server/shared_log.hpp"

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

OwnPort open_port(const char* name, const char* host, std::uint16_t port) {
  return {.name = name, .address = {.host = host, .port = port, .path = {}}};
}

const MachineNames kNames{.advertised = {}, .hostname = "box", .loopback = "17"};

}  // namespace

TEST_CASE("shared log: others are told of the ports that they can reach") {
  const OwnPort unix_port{.name = "beanstalk", .address = {.host = {}, .port = 0, .path = "/b"}};
  const std::vector<OwnPort> ports = {unix_port, open_port("faktory", "0.0.0.0", 7419),
                                      open_port("web", "10.0.0.9", 7420)};
  CHECK(advertised_ports(ports, kNames) ==
        "faktory=box:7419 web=10.0.0.9:7420 loopback=17 reports=2");
  CHECK(advertised_ports({open_port("web", "::", 1)}, kNames) == "web=box:1 loopback=17 reports=2");
  CHECK(advertised_ports({}, {}) == "reports=2");
}

TEST_CASE("shared log: a port on loopback is told to programs with the same loopback alone") {
  OwnPort local = open_port("web", "localhost", 7420);
  local.is_local = true;
  const std::vector<OwnPort> ports = {local, open_port("faktory", "0.0.0.0", 7419)};
  CHECK(advertised_ports(ports, kNames) ==
        "local-web=localhost:7420 faktory=box:7419 loopback=17 reports=2");
  CHECK(advertised_ports(ports, {.advertised = {}, .hostname = "box", .loopback = {}}) ==
        "local-web=localhost:7420 faktory=box:7419 reports=2");
}

TEST_CASE("shared log: --advertise tells all ports, also those on loopback") {
  OwnPort local = open_port("web", "127.0.0.1", 7420);
  local.is_local = true;
  CHECK(advertised_ports({local}, {.advertised = "10.0.0.1", .hostname = "box", .loopback = {}}) ==
        "web=10.0.0.1:7420 reports=2");
  for (const char* host : {"2001:db8::1", "[2001:db8::1]"}) {
    CHECK(advertised_ports({local}, {.advertised = host, .hostname = "box", .loopback = {}}) ==
          "web=[2001:db8::1]:7420 reports=2");
  }
}

}  // namespace millrace::server
