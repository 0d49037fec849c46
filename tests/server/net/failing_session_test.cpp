#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

#include "server/net/connections.hpp"
#include "server/turn/test_loop.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// A session with a bug: it throws where the test says.
class FailingSession final : public Session {
 public:
  struct Plan {
    bool fails_in_start = false;
    bool fails_in_receive = false;
    bool fails_in_resume = false;
    int close_count = 0;
  };

  explicit FailingSession(Plan& plan) : plan_(plan) {}

  void start(Time) override { fail_if(plan_.fails_in_start); }
  void receive(std::string_view, Time) override { fail_if(plan_.fails_in_receive); }
  void resume(Time) override { fail_if(plan_.fails_in_resume); }
  void end_of_input(Time) override {}
  void deliver(const Delivery&, Time) override {}
  void close(Time) override { ++plan_.close_count; }
  [[nodiscard]] bool wants_input() const override { return true; }
  [[nodiscard]] bool wants_resume() const override { return plan_.fails_in_resume; }
  [[nodiscard]] bool wants_close() const override { return false; }

 private:
  static void fail_if(bool is_wanted) {
    if (is_wanted) throw std::runtime_error("a bug");
  }

  Plan& plan_;
};

/// A connection that is served, and the client's end of it.
struct Served {
  explicit Served(FailingSession::Plan wanted) : plan(wanted) {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    client = ends[0];
    REQUIRE(::send(client, "x", 1, 0) == 1);
    loop.on_work = [this](Time) { connections.remove_closed(); };
    connections.add(ends[1], nullptr, std::make_unique<FailingSession>(plan));
    try {
      loop.run();
    } catch (const std::exception&) {
      has_leaked_exception = true;
    }
  }
  ~Served() { ::close(client); }

  [[nodiscard]] bool is_closed() const {
    char byte = 0;
    return ::recv(client, &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
  }

  FailingSession::Plan plan;
  std::string logged;
  Log log{[this](std::string_view line) { logged += line; }};
  TestLoop loop;
  Connections connections{{.net = loop.net,
                           .turn = loop.turn,
                           .ticker = loop.ticker,
                           .clock = loop.clock,
                           .log = log,
                           .unsent_bytes_max = kUnsentBytesMax,
                           .kept_input_bytes_max = kKeptInputBytesMax,
                           .left_behind_bytes = [] { return std::size_t{0}; },
                           .on_removed = [this](int) { has_ended = true; }}};
  int client = -1;
  bool has_ended = false;
  bool has_leaked_exception = false;
};

void check_closed(const Served& served) {
  CHECK(served.is_closed());
  CHECK(served.has_ended);
  CHECK_FALSE(served.has_leaked_exception);
  CHECK(served.plan.close_count == 1);
  CHECK(served.logged.find("session_failed error=\"a bug\"") != std::string::npos);
}

TEST_CASE("connection: a session that throws at its start costs only its connection") {
  check_closed(Served({.fails_in_start = true}));
}

TEST_CASE("connection: a session that throws at input costs only its connection") {
  check_closed(Served({.fails_in_receive = true}));
}

TEST_CASE("connection: a session that throws in a turn costs only its connection") {
  check_closed(Served({.fails_in_resume = true}));
}

TEST_CASE("connection: a session that throws nothing stays") {
  const Served served({});
  CHECK_FALSE(served.is_closed());
  CHECK_FALSE(served.has_ended);
}

}  // namespace
}  // namespace millrace::server
