/// What a NATS server keeps for a log whose connection was lost again and again.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <charconv>
#include <chrono>
#include <memory>
#include <string>

#include "engines/nats/nats_server.hpp"
#include "engines/open.hpp"
#include "journal/posix/descriptor.hpp"
#include "support/doctest.hpp"

namespace millrace::engines {
namespace {

using journal::LogService;
using std::chrono::milliseconds;
using std::chrono::seconds;
using OutageClock = std::chrono::steady_clock;

constexpr seconds kOutagePatience(20);

/// The number after the name, in a page of the server's monitoring port. -1: there is none.
int figure(int port, const std::string& page, const std::string& name) {
  const journal::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return -1;
  }
  const std::string request = "GET " + page + " HTTP/1.0\r\n\r\n";
  if (::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return -1;
  std::string answer;
  char bytes[4096];
  for (ssize_t size = 1; size > 0;) {
    size = ::recv(socket.get(), bytes, sizeof bytes, 0);
    if (size > 0) answer.append(bytes, static_cast<std::size_t>(size));
  }
  const std::size_t at = answer.find("\"" + name + "\": ");
  if (at == std::string::npos) return -1;
  int number = -1;
  const char* const begin = answer.data() + at + name.size() + 4;
  std::from_chars(begin, answer.data() + answer.size(), number);
  return number;
}

std::unique_ptr<LogService> log_when_there(const std::string& address) {
  const Options options{.allows_unsynced = true};
  const auto end = OutageClock::now() + kOutagePatience;
  for (;;) {
    auto log = open_nats_log("nats://" + address + "/jobs", options);
    if (log) return std::move(*log);
    REQUIRE_MESSAGE(OutageClock::now() < end, log.error().text);
  }
}

/// Begins to read, until that works.
void read_from_begin(LogService& log) {
  const auto end = OutageClock::now() + kOutagePatience;
  for (;;) {
    const auto chunk = log.follow(0, 1000, milliseconds(100));
    if (chunk && !chunk->entries.empty()) return;
    REQUIRE(OutageClock::now() < end);
    (void)log.answers(milliseconds(10));
  }
}

}  // namespace

TEST_CASE("NATS outage: after many reconnects a server keeps one consumer, few subscriptions") {
  const NatsDirectory directory;
  const int monitoring = free_nats_port();
  NatsServer server(directory.path(),
                    {.config = "http: \"127.0.0.1:" + std::to_string(monitoring) + "\""});
  server.start();
  const auto log = log_when_there(server.address());
  (void)log->append(0, "one");
  REQUIRE(log->answers(seconds(2)).size() == 1);
  for (int i = 0; i < 4; ++i) {
    server.kill();
    for (int j = 0; j < 20; ++j) (void)log->follow(0, 1000, milliseconds(5));
    server.start();
    for (int j = 0; j < 20; ++j) read_from_begin(*log);
  }
  CHECK(figure(monitoring, "/connz", "num_connections") == 1);
  // Of acknowledgements, of trims, of the library's own questions, of the reader; and of the
  // answers where the stream ends, once that was asked.
  const auto subscriptions = figure(monitoring, "/connz", "subscriptions");
  CHECK((subscriptions == 4 || subscriptions == 5));
  // The server removes those that nobody listens to within some seconds.
  const auto end = OutageClock::now() + kOutagePatience;
  while (figure(monitoring, "/jsz", "consumers") > 1 && OutageClock::now() < end) {
    (void)log->follow(1, 1000, milliseconds(100));
  }
  CHECK(figure(monitoring, "/jsz", "consumers") == 1);
}

}  // namespace millrace::engines
