#include "engines/nats/nats_connection.hpp"

#include <chrono>
#include <string>

#include "engines/nats/nats_server.hpp"
#include "support/doctest.hpp"

namespace millrace::engines {

TEST_CASE("NATS connection: subscriptions that have ended are forgotten after a while") {
  const NatsDirectory directory;
  NatsServer server(directory.path(), {});
  server.start();
  const auto url = parse_nats_url("nats://" + server.address() + "/jobs");
  REQUIRE(url);
  NatsMailbox mailbox;
  auto connection = NatsConnection::open(*url, {}, mailbox);
  while (!connection) connection = NatsConnection::open(*url, {}, mailbox);
  NatsMailbox::Time now{};
  for (int i = 0; i < 2000; ++i, now += std::chrono::milliseconds(250)) {
    NatsSubscription* const made = (*connection)->subscribe("x" + std::to_string(i), now);
    REQUIRE(made != nullptr);
    made->end(now);
  }
  CHECK((*connection)->subscription_count() < 300);
}

}  // namespace millrace::engines
