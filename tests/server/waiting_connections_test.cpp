#include "server/waiting_connections.hpp"

#include "server/manual_clock.hpp"
#include "server/relay/relay_ends.hpp"

namespace millrace::server {
namespace {

struct Waiting {
  ManualClock clock;
  Log log{[](std::string_view) {}};
  WaitingConnections connections{{.clock = clock,
                                  .log = log,
                                  .relay = {.node = "a", .own_ports = ""},
                                  .clients_max = 8,
                                  .web_connections_max = 8}};

  BoundSocket bind() {
    return std::move(*BoundSocket::bind({.host = "127.0.0.1", .port = 0}, log));
  }
  static End connect(const BoundSocket& socket) {
    const int client = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in name{.sin_family = AF_INET,
                     .sin_port = htons(socket.address().port),
                     .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
                     .sin_zero = {}};
    REQUIRE(::connect(client, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0);
    return End(client);
  }
  /// What comes within a while.
  std::string told(const End& client) {
    std::string all;
    for (int i = 0; i < 50 && (all.empty() || all.back() != '|'); ++i) {
      connections.work(1ms);
      all += client.receive();
    }
    return all;
  }
};

}  // namespace

TEST_CASE("waiting connections: job clients wait, and are refused after ten seconds") {
  Waiting waiting;
  BoundSocket socket = waiting.bind();
  BoundSocket same = std::move(*socket.duplicate());
  REQUIRE(waiting.connections.open("beanstalk", std::move(socket)));
  CHECK(waiting.connections.is_open());
  const End client = Waiting::connect(same);
  client.send("put 0 0 1 1\r\nx\r\n");
  CHECK(waiting.told(client).empty());
  waiting.clock.set(waiting.clock.now() + kRelayWaitMax);
  CHECK(waiting.told(client) == "DRAINING\r\n|");
}

TEST_CASE("waiting connections: the web port says that the log was not reached") {
  Waiting waiting;
  BoundSocket socket = waiting.bind();
  BoundSocket same = std::move(*socket.duplicate());
  REQUIRE(waiting.connections.open_web(std::move(socket)));
  const End health = Waiting::connect(same);
  health.send("GET /health HTTP/1.1\r\n\r\n");
  const std::string said = waiting.told(health);
  CHECK(said.starts_with("HTTP/1.1 503 "));
  CHECK(said.find("without_log") != std::string::npos);
  const End page = Waiting::connect(same);
  page.send("GET / HTTP/1.1\r\n\r\n");
  CHECK(waiting.told(page).find("has not reached the shared log") != std::string::npos);
}

}  // namespace millrace::server
