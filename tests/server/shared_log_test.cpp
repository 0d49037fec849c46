#include "server/shared_log.hpp"

#include "support/doctest.hpp"

namespace millrace::server {

TEST_CASE("shared log: others are told of the ports that they can reach") {
  Config config;
  config.faktory = Address{.host = "0.0.0.0", .port = 7419};
  config.beanstalk = Address{.host = {}, .port = 0, .path = "/run/b"};
  CHECK(advertised_ports(config, "box") == "faktory=box:7419 web=127.0.0.1:7420");
  config.advertise = "10.0.0.1";
  config.web.reset();
  CHECK(advertised_ports(config, "box") == "faktory=10.0.0.1:7419");
}

}  // namespace millrace::server
