#include "server/turn/client_session.hpp"

#include <algorithm>
#include <vector>

#include "server/net/client_socket.hpp"
#include "server/turn/test_loop.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// What a session was told, and what it says of itself.
struct Told {
  bool has_closed = false;
  bool is_broken = false;
  bool has_ended = false;
  bool is_at_work = false;
  std::size_t sent_bytes = 0;
  std::size_t kept_bytes = 0;
  int resumed = 0;
  bool wants_input = true;
  std::size_t received = 0;  ///< in one call, at most
  Time wake_at = kNever;
  Lsn needs = kWholeLog;  ///< of the log, by what it says next
};

/// Answers what it receives with the same bytes.
class EchoSession final : public Session {
 public:
  explicit EchoSession(Told& told) : told_(told) {}

  void start(Time) override {}
  void receive(std::string_view bytes, Time) override {
    told_.received = std::max(told_.received, bytes.size());
    const std::size_t begin = output_.size();
    output_ += bytes;
    need_only(told_.needs, begin);
  }
  void resume(Time) override {
    ++told_.resumed;
    told_.wake_at = kNever;
  }
  void end_of_input(Time) override { told_.has_ended = true; }
  void deliver(const Delivery&, Time) override {}
  void sent(std::size_t bytes) override { told_.sent_bytes += bytes; }
  void note_broken() override { told_.is_broken = true; }
  void close(Time) override { told_.has_closed = true; }
  [[nodiscard]] bool wants_input() const override { return told_.wants_input; }
  [[nodiscard]] std::size_t kept_bytes() const override { return told_.kept_bytes; }
  [[nodiscard]] bool wants_resume() const override { return false; }
  [[nodiscard]] bool is_at_work() const override { return told_.is_at_work; }
  [[nodiscard]] bool wants_close() const override { return told_.has_ended && !is_at_work(); }
  [[nodiscard]] Time wake_at() const override { return told_.wake_at; }

 private:
  Told& told_;
};

using Then = Order::Then;

/// A session whose socket is a few strings. What it orders is noted when a turn ends.
struct Served {
  TestLoop loop;
  std::string logged;
  Log log{[this](std::string_view line) { logged += line; }};
  KeptInput kept{{.turn = loop.turn,
                  .ticker = loop.ticker,
                  .clock = loop.clock,
                  .log = log,
                  .bytes_max = kPipelinedBytesMax + 1}};
  ClientSession::Parts parts{
      .turn = loop.turn, .ticker = loop.ticker, .clock = loop.clock, .log = log, .kept = kept};
  Told told;
  ClientSocket socket{-1, nullptr};  // Only its address is used.
  Batch<Order> orders;
  ClientSession client{std::make_unique<EchoSession>(told), socket, orders, parts};

  std::string given;       ///< all output that was ordered to be sent
  Lsn needs = 0;           ///< and what the last of it waits for
  std::vector<Then> then;  ///< what was ordered besides

  Served() { client.start(); }
  ~Served() {
    if (!told.has_closed) say({.is_over = true, .is_gone = true});
  }

  struct Said {
    std::string_view input = {};
    std::size_t sent_bytes = 0;
    bool is_full = false;
    bool is_end = false;
    bool is_over = false;
    bool is_broken = false;
    bool is_gone = false;
  };

  /// The socket says that.
  void say(const Said& said) {
    client.take({.to = &client,
                 .input = said.input,
                 .sent_bytes = said.sent_bytes,
                 .is_full = said.is_full,
                 .is_end = said.is_end,
                 .is_over = said.is_over,
                 .is_broken = said.is_broken,
                 .is_gone = said.is_gone});
  }

  /// Those that are ready are served, once each, as long as there are any.
  void serve() {
    while (!parts.ready.is_empty()) serve_first();
  }
  void serve_first() {
    auto& [answered, others] = parts.ready;
    std::deque<ClientSession*>& queue = answered.empty() ? others : answered;
    ClientSession* const first = queue.front();
    queue.pop_front();
    if (first != nullptr) first->serve(kServedBytesMin);
  }

  void receive(std::string_view bytes) {
    say({.input = bytes});
    serve();
  }

  /// A turn, as far as it is about this client.
  void run() {
    loop.run();
    for (Order& order : orders.values()) {
      given += order.output;
      if (!order.output.empty()) needs = order.lsn;
      order.output.clear();
      if (order.then != Then::kNothing) then.push_back(order.then);
    }
    orders.clear();
  }

  void put_job() { REQUIRE(loop.broker.put({.queue = "default", .body = "x"}, loop.clock.now())); }
};

TEST_CASE("client: output is handed over once a turn, bound to the end of the log") {
  Served served;
  served.put_job();
  served.receive("ab");
  CHECK(served.orders.is_empty());
  served.run();
  CHECK(served.given == "ab");
  CHECK(served.needs == served.loop.journal.end());
}

TEST_CASE("client: output that hands out a job is bound to what that needs") {
  Served served;
  served.put_job();
  served.told.needs = 1;
  served.receive("a");
  served.run();
  CHECK(served.needs == 1);
}

TEST_CASE("client: of a strict server it is bound to the end of the log") {
  Served served;
  served.parts.is_fetch_strict = true;
  served.put_job();
  served.told.needs = 1;
  served.receive("a");
  served.run();
  CHECK(served.needs == served.loop.journal.end());
}

TEST_CASE("client: no output waits for less than what was said before it") {
  Served served;
  served.put_job();
  served.receive("a");
  served.run();
  served.told.needs = 1;
  served.receive("b");
  served.run();
  CHECK(served.needs == served.loop.journal.end());
}

TEST_CASE("client: when its input is taken, the socket is to read on") {
  Served served;
  served.receive("a");
  served.run();
  CHECK(served.then == std::vector{Then::kReadOn});
}

TEST_CASE("client: one that has all its answers comes before one that has not") {
  Served served;
  const auto& [answered, others] = served.parts.ready;
  served.say({.input = "a"});
  CHECK(answered.size() == 1);
  served.serve();
  served.run();
  served.say({.input = "b"});
  CHECK(others.size() == 1);
  served.serve();
  served.run();
  served.say({.input = "c", .sent_bytes = 2});
  CHECK(answered.size() == 1);
}

TEST_CASE("client: much input is executed a little at a time, and others come in between") {
  Served served;
  const std::string much(2 * kServedBytesMin + 1, 'x');
  served.say({.input = much});
  served.serve_first();
  CHECK(served.told.received == kServedBytesMin);
  CHECK(served.parts.ready.others.size() == 1);
  served.serve();
  served.run();
  CHECK(served.told.received == kServedBytesMin);
  CHECK(served.given == much);
  CHECK(served.then == std::vector{Then::kReadOn});
}

TEST_CASE("client: what its session does not want is left with the socket, and taken later") {
  Served served;
  served.told.wants_input = false;
  served.receive("a");
  served.loop.turn.enlist(served.client);
  served.run();
  CHECK(served.given.empty());
  CHECK(served.then == std::vector{Then::kHold});
  served.told.wants_input = true;
  served.loop.turn.enlist(served.client);
  served.run();
  served.serve();
  served.run();
  CHECK(served.given == "a");
  CHECK(served.then == std::vector{Then::kHold, Then::kReadOn});
}

TEST_CASE("client: all output that was not sent is counted, wherever it is") {
  Served served;
  served.receive("abcdef");
  CHECK(served.client.unsent_bytes() == 6);
  CHECK(served.parts.unsent.bytes == 6);
  CHECK(served.parts.unsent.turn_bytes == 6);
  served.run();
  served.say({.sent_bytes = 4});
  CHECK(served.parts.unsent.bytes == 2);
  CHECK(served.told.sent_bytes == 4);
  served.say({.sent_bytes = 2});
  CHECK(served.parts.unsent.bytes == 0);
}

TEST_CASE("client: one that does not read is stalled since it read last") {
  Served served;
  served.receive("abcdef");
  served.run();
  served.say({.sent_bytes = 1, .is_full = true});
  const Time first = served.loop.clock.now();
  served.loop.clock.set(first + 1s);
  served.say({.is_full = true});
  CHECK(served.client.stalled_since() == first);
  served.say({.sent_bytes = 1, .is_full = true});
  CHECK(served.client.stalled_since() == first + 1s);
  served.say({.sent_bytes = 1});
  CHECK_FALSE(served.client.stalled_since());
}

TEST_CASE("client: one that closes leaves nothing that is counted") {
  Served served;
  served.told.kept_bytes = 5;
  served.receive("abc");
  CHECK(served.kept.bytes() == 5);
  served.say({.is_over = true, .is_broken = true, .is_gone = true});
  CHECK(served.told.has_closed);
  CHECK(served.told.is_broken);
  CHECK(served.parts.unsent.bytes == 0);
  CHECK(served.kept.bytes() == 0);
}

TEST_CASE("client: while much of its output was not sent, nothing more is executed") {
  Served served;
  const std::string much(kInputShareBytes, 'x');
  while (served.given.size() < kUnsentBytesPause) {
    served.receive(much);
    served.run();
  }
  served.then.clear();
  served.run();
  CHECK(served.then.empty());
  served.say({.sent_bytes = much.size()});
  served.run();
  CHECK(served.then == std::vector{Then::kReadOn});
}

TEST_CASE("client: one that has all its answers and closes is gone within the same call") {
  Served served;
  served.say({.is_end = true});
  CHECK(served.told.has_closed);
  served.run();
  CHECK(served.then == std::vector{Then::kFinish});
}

TEST_CASE("client: one that closes and awaits an answer is gone when it was sent") {
  Served served;
  served.put_job();
  served.say({.input = "a", .is_end = true});
  served.serve();
  served.run();
  CHECK(served.given == "a");
  CHECK(served.then == std::vector{Then::kFinish});
  CHECK_FALSE(served.told.has_closed);
  served.say({.sent_bytes = 1, .is_over = true});
  CHECK(served.told.has_closed);
  CHECK(served.told.sent_bytes == 1);
}

TEST_CASE("client: a socket that lingers is dropped after a while") {
  Served served;
  served.say({.is_end = true});
  served.run();
  served.then.clear();
  served.loop.clock.set(served.loop.clock.now() + kLingerMax);
  served.run();
  CHECK(served.then == std::vector{Then::kDrop});
}

TEST_CASE("client: one that is dropped executes nothing more, and ends when its socket has") {
  Served served;
  served.receive("a");
  served.client.drop();
  served.say({.input = "b"});
  served.serve();
  served.run();
  CHECK(served.given == "a");
  CHECK(served.then.back() == Then::kDrop);
  CHECK_FALSE(served.told.has_closed);
  served.say({.is_over = true, .is_gone = true});
  CHECK(served.told.has_closed);
}

TEST_CASE("client: one that closes while it is ready is not served") {
  Served served;
  served.say({.input = "a"});
  served.say({.is_over = true, .is_gone = true});
  served.serve();
  CHECK(served.told.received == 0);
}

TEST_CASE("client: while another long line comes to its end it is not read, and then read on") {
  struct Other final : InputKeeper {
    [[nodiscard]] bool wants_input() const override { return true; }
    void ask_again() override {}
    void drop() override {}
  } other;
  Served served;
  served.kept.count(other, kPipelinedBytesMax + 1);
  served.told.kept_bytes = kPipelinedBytesMax + 1;
  served.receive("a");
  served.run();
  CHECK(served.then == std::vector{Then::kHold});
  served.kept.count(other, 0);
  served.run();
  CHECK(served.then == std::vector{Then::kHold, Then::kReadOn});
}

TEST_CASE("client: when its session's time has come it is resumed, and then no more") {
  Served served;
  served.told.wake_at = served.loop.clock.now() + 1s;
  served.receive("a");
  served.run();
  served.loop.clock.set(served.told.wake_at);
  served.run();
  CHECK(served.told.resumed == 0);
  served.serve();
  CHECK(served.told.resumed == 1);
  served.run();
  served.serve();
  CHECK(served.told.resumed == 1);
}

TEST_CASE("client: one that is stopped waits for the reply that is made in the background") {
  Served served;
  served.told.is_at_work = true;
  served.client.stop();
  served.serve();
  served.run();
  CHECK(served.told.has_ended);
  CHECK(served.then.empty());
  served.told.is_at_work = false;
  served.loop.turn.enlist(served.client);
  served.run();
  CHECK(served.then == std::vector{Then::kEnd});
  CHECK(served.told.has_closed);
}

TEST_CASE("client: one that is stopped is asked nothing more, and has its answers first") {
  Served served;
  served.receive("a");
  served.run();
  served.then.clear();
  served.client.stop();
  served.serve();
  served.run();
  CHECK(served.told.has_ended);
  CHECK(served.then == std::vector{Then::kEnd});
  CHECK_FALSE(served.told.has_closed);
}

}  // namespace
}  // namespace millrace::server
