#include "server/net/io_thread.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

using Then = Order::Then;

/// A socket with both ends here. Its session is the test, which has only an address for it.
struct Connected {
  Log log{[](std::string_view) {}};
  Poller poller;
  IoThread thread{poller, log};
  Batch<Arrival> arrived;
  ClientSocket* socket = nullptr;
  int client = -1;
  bool is_gone = false;
  alignas(std::max_align_t) char session[1] = {};

  Connected() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    client = ends[0];
    auto made = std::make_unique<ClientSocket>(ends[1], nullptr);
    socket = made.get();
    made->serve(*reinterpret_cast<ClientSession*>(session));
    thread.add(std::move(made));
  }
  ~Connected() {
    if (!is_gone) order(Then::kDrop);
    order(Then::kForget);
    if (client >= 0) ::close(client);
  }

  /// A round, with all that the system has by now.
  void run() {
    thread.submit();
    thread.before_wait();
    poller.wait(Duration{});
    thread.publish();
    arrived.clear();
    thread.take(arrived);
    for (const Arrival& arrival : arrived.values()) is_gone = is_gone || arrival.is_gone;
  }

  void order(Then then, const std::string& output = "", Lsn lsn = 0) {
    Order& order = thread.orders().add();
    order.to = socket;
    order.output = output;
    order.lsn = lsn;
    order.then = then;
    run();
  }

  void let_go(Lsn durable) { thread.let_go(durable, Duration::max()); }

  void send(std::string_view bytes) const {
    REQUIRE(::send(client, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  }

  [[nodiscard]] std::string received() const {
    char bytes[64];
    const ssize_t size = ::recv(client, bytes, sizeof bytes, MSG_DONTWAIT);
    return size < 0 ? "nothing" : std::string(bytes, static_cast<std::size_t>(size));
  }

  /// The input of the only arrival.
  [[nodiscard]] std::string input() {
    REQUIRE(arrived.size() == 1);
    return std::string(arrived.values()[0].input);
  }
};

TEST_CASE("io: input is handed on once, and the next when it was taken") {
  Connected io;
  io.send("first");
  io.run();
  CHECK(io.input() == "first");
  io.send("second");
  io.run();
  CHECK(io.arrived.is_empty());
  io.order(Then::kReadOn);
  CHECK(io.input() == "second");
}

TEST_CASE("io: no more than a share of the input is handed on at a time") {
  Connected io;
  const std::string much(kInputShareBytes + 10, 'x');
  io.send(much);
  io.run();
  CHECK(io.input().size() == kInputShareBytes);
  io.order(Then::kReadOn);
  // It was received in the exchange, so that it is said without a further wait.
  CHECK(io.input().size() == 10);
}

TEST_CASE("io: output leaves when what it tells of is durable, in order") {
  Connected io;
  io.order(Then::kNothing, "a", 5);
  io.order(Then::kNothing, "b", 7);
  CHECK(io.received() == "nothing");
  io.let_go(5);
  io.run();
  CHECK(io.received() == "a");
  io.let_go(7);
  io.run();
  CHECK(io.received() == "b");
}

TEST_CASE("io: when nothing may be answered any more, nothing leaves") {
  Connected io;
  io.let_go(5);
  io.let_go(0);
  io.order(Then::kNothing, "a", 5);
  CHECK(io.received() == "nothing");
}

TEST_CASE("io: what was sent is told with what comes next, or when it is much") {
  Connected io;
  io.let_go(1);
  io.order(Then::kNothing, "a", 1);
  CHECK(io.arrived.is_empty());
  io.send("x");
  io.run();
  CHECK(io.input() == "x");
  CHECK(io.arrived.values()[0].sent_bytes == 1);
  io.order(Then::kNothing, std::string(kSentBytesUntold, 'y'), 1);
  REQUIRE(io.arrived.size() == 1);
  CHECK(io.arrived.values()[0].sent_bytes == kSentBytesUntold);
}

TEST_CASE("io: one that finishes sends all, tells so, and lingers until the client closes") {
  Connected io;
  io.order(Then::kFinish, "bye", 3);
  CHECK(io.arrived.is_empty());
  io.let_go(3);
  io.run();
  REQUIRE(io.arrived.size() == 1);
  CHECK(io.arrived.values()[0].is_over);
  CHECK(io.arrived.values()[0].sent_bytes == 3);
  CHECK_FALSE(io.is_gone);
  CHECK(io.received() == "bye");
  CHECK(io.received().empty());
  io.send("too late");
  io.run();
  CHECK(io.arrived.is_empty());
  ::close(std::exchange(io.client, -1));
  io.run();
  REQUIRE(io.arrived.size() == 1);
  CHECK_FALSE(io.arrived.values()[0].is_over);
  CHECK(io.is_gone);
}

TEST_CASE("io: one that ends does not linger") {
  Connected io;
  io.let_go(1);
  io.order(Then::kEnd, "bye", 1);
  CHECK(io.is_gone);
  CHECK(io.received() == "bye");
}

TEST_CASE("io: the end of the input is told after the input, and answers still leave") {
  Connected io;
  io.send("x");
  ::shutdown(io.client, SHUT_WR);
  io.run();
  CHECK(io.input() == "x");
  io.order(Then::kReadOn);
  REQUIRE(io.arrived.size() == 1);
  CHECK(io.arrived.values()[0].is_end);
  io.let_go(1);
  io.order(Then::kFinish, "answer", 1);
  CHECK(io.received() == "answer");
  CHECK(io.is_gone);
}

TEST_CASE("io: a connection that breaks while its input is held is told") {
  Connected io;
  io.send("x");
  io.run();
  io.order(Then::kHold);
  ::close(std::exchange(io.client, -1));
  io.run();
  REQUIRE(io.arrived.size() == 1);
  CHECK(io.arrived.values()[0].is_over);
  CHECK(io.arrived.values()[0].is_broken);
  CHECK(io.is_gone);
}

TEST_CASE("io: one that was dropped says so at once, and nothing more") {
  Connected io;
  io.order(Then::kNothing, "never", 9);
  io.order(Then::kDrop);
  REQUIRE(io.arrived.size() == 1);
  CHECK(io.arrived.values()[0].is_over);
  CHECK_FALSE(io.arrived.values()[0].is_broken);
  CHECK(io.is_gone);
  io.let_go(9);
  io.order(Then::kFinish);
  CHECK(io.arrived.is_empty());
  CHECK(io.received() == "nothing");
}

TEST_CASE("io: long output waits for the next round when a round has sent much, short does not") {
  Connected io;
  io.thread.count_sent(kRoundSentBytesMax);
  CHECK_FALSE(io.thread.may_send(kShortOutputBytes + 1));
  CHECK(io.thread.may_send(kShortOutputBytes));
  io.run();
  CHECK(io.thread.may_send(kShortOutputBytes + 1));
}

TEST_CASE("io: the journal lets replies leave, and an older position holds none back") {
  Connected io;
  io.order(Then::kNothing, "a", 5);
  io.thread.note_durable(5);
  io.let_go(4);
  io.run();
  CHECK(io.received() == "a");
}

TEST_CASE("io: a requested round sees what had happened, and was published") {
  const Log log{[](std::string_view) {}};
  IoThread thread("io_test", log, [] {});
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  auto socket = std::make_unique<ClientSocket>(ends[1], nullptr);
  ClientSocket* const opened = socket.get();
  alignas(std::max_align_t) char session[1] = {};
  socket->serve(*reinterpret_cast<ClientSession*>(session));
  thread.add(std::move(socket));
  thread.submit();
  REQUIRE(::shutdown(ends[0], SHUT_WR) == 0);
  thread.await_round(thread.request_round());
  Batch<Arrival> arrived;
  thread.take(arrived);
  REQUIRE(arrived.size() == 1);
  CHECK(arrived.values()[0].is_end);
  for (const Then then : {Then::kDrop, Then::kForget}) {
    Order& order = thread.orders().add();
    order.to = opened;
    order.then = then;
  }
  thread.submit();
  thread.end();
  ::close(ends[0]);
}

}  // namespace
}  // namespace millrace::server
