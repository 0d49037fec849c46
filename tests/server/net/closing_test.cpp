#include <optional>

#include "server/running_server.hpp"
#include "support/doctest.hpp"

/// Of one wait's events those of clients that have closed come first: other clients see them gone.
namespace millrace::server {
namespace {

constexpr std::string_view kReserved = "RESERVED 1 1\r\nx\r\n";

/// One client does something and closes; another asks, and the system has both for the same wait.
struct Closing {
  RunningServer running;
  std::optional<SocketClient> leaving = running.connect("beanstalk");
  SocketClient asking = running.connect("beanstalk");

  Closing() { running.wait_for_connections(2); }

  void tell(std::string_view command, std::string_view reply) {
    REQUIRE(leaving->ask(command, reply) == reply);
  }

  /// The question's first byte is there before the close, so that the system names it first.
  std::string close_and_ask(std::string_view question) {
    running.settle();
    running.on_loop([&] {
      asking.send(question.substr(0, 1));
      leaving.reset();
      asking.send(question.substr(1));
    });
    std::string answer;
    while (!answer.ends_with("\r\n")) answer += asking.read_some();
    return answer;
  }
};

bool has_line(const std::string& text, const std::string& line) {
  return text.find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("closing: a job that the client held is ready for the next one") {
  Closing closing;
  closing.tell("put 0 0 60 1\r\nx\r\n", "INSERTED 1\r\n");
  closing.tell("reserve\r\n", kReserved);
  CHECK(closing.close_and_ask("reserve-with-timeout 0\r\n") == kReserved);
}

TEST_CASE("closing: statistics count neither the client nor what it held") {
  Closing closing;
  closing.tell("put 0 0 60 1\r\nx\r\n", "INSERTED 1\r\n");
  closing.tell("reserve\r\n", kReserved);
  const std::string stats = closing.close_and_ask("stats\r\n");
  CHECK(has_line(stats, "current-connections: 1"));
  CHECK(has_line(stats, "current-jobs-reserved: 0"));
  CHECK(has_line(stats, "current-jobs-ready: 1"));
}

TEST_CASE("closing: a client that waited for a job waits no more") {
  Closing closing;
  closing.leaving->send("reserve\r\n");
  const std::string stats = closing.close_and_ask("stats\r\n");
  CHECK(has_line(stats, "current-waiting: 0"));
  // An I/O thread may still have the reply to the `reserve`.
  if (!closing.running.has_io_threads()) CHECK(has_line(stats, "current-connections: 1"));
}

}  // namespace millrace::server
