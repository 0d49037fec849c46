#include "server/turn/client_session.hpp"

#include "server/turn/test_loop.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// What a session was told, and when it wants to be told more.
struct Told {
  bool has_closed = false;
  bool has_ended = false;
  std::size_t sent_bytes = 0;
  std::size_t kept_bytes = 0;
  int resumed = 0;
  Time wake_at = kNever;
  Lsn needs = kWholeLog;  ///< of the log, by what it says next
};

/// Answers what it receives with the same bytes.
class EchoSession final : public Session {
 public:
  explicit EchoSession(Told& told) : told_(told) {}

  void start(Time) override {}
  void receive(std::string_view bytes, Time) override {
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
  void close(Time) override { told_.has_closed = true; }
  [[nodiscard]] bool wants_input() const override { return true; }
  [[nodiscard]] std::size_t kept_bytes() const override { return told_.kept_bytes; }
  [[nodiscard]] bool wants_resume() const override { return false; }
  [[nodiscard]] bool wants_close() const override { return told_.has_ended; }
  [[nodiscard]] Time wake_at() const override { return told_.wake_at; }

 private:
  Told& told_;
};

/// A socket that is a string. It takes as much as the test lets it.
class FakeSocket final : public SocketHalf {
 public:
  [[nodiscard]] bool takes_output() const override { return has_room; }
  void give(std::string& bytes, Lsn lsn) override {
    waiting += bytes;
    bytes.clear();
    last_lsn = lsn;
  }
  bool send_durable(Lsn durable) override {
    if (durable < last_lsn) return true;
    const std::string taken = waiting.substr(0, takes);
    waiting.erase(0, taken.size());
    received += taken;
    if (!taken.empty()) client->sent(taken.size());
    return false;
  }
  void read_on() override { ++read_ons; }
  void finish() override {
    is_finished = true;
    client->close(false);
  }
  void drop() override {
    is_dropped = true;
    waiting.clear();
    client->close(false);
  }

  ClientSession* client = nullptr;
  std::string waiting;
  std::string received;
  Lsn last_lsn = 0;
  std::size_t takes = std::string::npos;
  bool has_room = true;
  int read_ons = 0;
  bool is_finished = false;
  bool is_dropped = false;
};

struct Served {
  TestLoop loop;
  std::string logged;
  Log log{[this](std::string_view line) { logged += line; }};
  KeptInput kept{{.turn = loop.turn,
                  .ticker = loop.ticker,
                  .clock = loop.clock,
                  .log = log,
                  .bytes_max = kPipelinedBytesMax + 1}};
  ClientSession::Parts parts{.turn = loop.turn,
                             .ticker = loop.ticker,
                             .clock = loop.clock,
                             .log = log,
                             .kept = kept,
                             .input_share = TurnBudget(loop.clock),
                             .resume_share = TurnBudget(loop.clock)};
  Told told;
  FakeSocket socket;
  ClientSession client{std::make_unique<EchoSession>(told), socket, parts};

  Served() {
    socket.client = &client;
    client.start();
  }
};

TEST_CASE("client: output is handed over once a turn, bound to the end of the log") {
  Served served;
  REQUIRE(served.loop.broker.put({.queue = "default", .body = "x"}, served.loop.clock.now()));
  served.client.receive("a");
  served.client.receive("b");
  CHECK(served.socket.waiting.empty());
  served.loop.run();
  CHECK(served.socket.waiting == "ab");
  CHECK(served.socket.last_lsn == served.loop.journal.end());
  served.loop.make_durable(served.loop.journal.end());
  CHECK(served.socket.received == "ab");
}

TEST_CASE("client: output that hands out a job is bound to what that needs") {
  Served served;
  REQUIRE(served.loop.broker.put({.queue = "default", .body = "x"}, served.loop.clock.now()));
  served.told.needs = 1;
  served.client.receive("a");
  served.loop.run();
  CHECK(served.socket.last_lsn == 1);
}

TEST_CASE("client: of a strict server it is bound to the end of the log") {
  Served served;
  served.parts.is_fetch_strict = true;
  REQUIRE(served.loop.broker.put({.queue = "default", .body = "x"}, served.loop.clock.now()));
  served.told.needs = 1;
  served.client.receive("a");
  served.loop.run();
  CHECK(served.socket.last_lsn == served.loop.journal.end());
}

TEST_CASE("client: output that hands out a job among other output waits with that") {
  Served served;
  REQUIRE(served.loop.broker.put({.queue = "default", .body = "x"}, served.loop.clock.now()));
  served.told.needs = 1;
  served.client.receive("a");
  served.told.needs = kWholeLog;
  served.client.receive("b");
  served.loop.run();
  CHECK(served.socket.last_lsn == served.loop.journal.end());
}

TEST_CASE("client: no output waits for less than what was said before it") {
  Served served;
  REQUIRE(served.loop.broker.put({.queue = "default", .body = "x"}, served.loop.clock.now()));
  served.client.receive("a");
  served.loop.run();
  served.told.needs = 1;
  served.client.receive("b");
  served.loop.run();
  CHECK(served.socket.last_lsn == served.loop.journal.end());
}

TEST_CASE("client: all output that was not sent is counted, wherever it is") {
  Served served;
  served.socket.takes = 2;
  served.client.receive("abcdef");
  CHECK(served.client.unsent_bytes() == 4);
  CHECK(served.parts.unsent.bytes == 4);
  CHECK(served.parts.unsent.turn_bytes == 6);
  CHECK(served.told.sent_bytes == 2);
  served.loop.run();
  CHECK(served.parts.unsent.bytes == 2);
  CHECK(served.told.sent_bytes == 4);
  served.socket.drop();
  CHECK(served.parts.unsent.bytes == 0);
}

TEST_CASE("client: what the socket has no room for stays with the session") {
  Served served;
  served.socket.has_room = false;
  served.client.receive("abc");
  served.loop.run();
  CHECK(served.socket.waiting.empty());
  CHECK(served.client.unsent_bytes() == 3);
  served.socket.has_room = true;
  served.client.has_room();
  served.loop.run();
  CHECK(served.socket.received == "abc");
}

TEST_CASE("client: after the last answer the connection ends, within the same call") {
  Served served;
  served.client.end_input();
  CHECK(served.socket.is_finished);
  CHECK(served.told.has_closed);
}

TEST_CASE("client: an answer that waits for the disk keeps the connection") {
  Served served;
  REQUIRE(served.loop.broker.put({.queue = "default", .body = "x"}, served.loop.clock.now()));
  served.client.receive("a");
  served.client.end_input();
  served.loop.run();
  CHECK_FALSE(served.socket.is_finished);
  served.loop.make_durable(served.loop.journal.end());
  CHECK(served.socket.received == "a");
  CHECK(served.socket.is_finished);
}

TEST_CASE("client: one that sends much waits when the turn has brought much output") {
  Served served;
  served.parts.unsent.turn_bytes = kTurnOutputBytesMax - 1;
  CHECK(served.client.input_share() == kInputShareBytes);
  served.parts.unsent.turn_bytes = kTurnOutputBytesMax;
  CHECK(served.client.input_share() == 0);
}

TEST_CASE("client: one that sends much waits when the turn has lasted for its share") {
  Served served;
  CHECK(served.client.input_share() == kInputShareBytes);
  served.loop.clock.set(served.loop.clock.now() + kTurnBudget);
  CHECK(served.client.input_share() == 0);
  served.parts.input_share.reset();
  CHECK(served.client.input_share() == kInputShareBytes);
}

TEST_CASE("client: one that waits for the next turn asks for it") {
  Served served;
  served.loop.run();
  CHECK(served.client.input_share() == kInputShareBytes);
  served.loop.clock.set(served.loop.clock.now() + kTurnBudget);
  CHECK_FALSE(served.loop.turn.has_work());
  CHECK(served.client.input_share() == 0);
  CHECK(served.loop.turn.has_work());
}

TEST_CASE("client: one that sends little is served in each turn, a little") {
  Served served;
  served.client.receive("a");
  CHECK(served.client.input_share() == kBriefInputBytes);
  served.loop.clock.set(served.loop.clock.now() + kTurnBudget);
  served.parts.unsent.turn_bytes = kTurnOutputBytesMax;
  CHECK(served.client.input_share() == kBriefInputBytes);
  served.parts.unsent.turn_bytes = 2 * kTurnOutputBytesMax;
  CHECK(served.client.input_share() == 0);
}

TEST_CASE("client: one that sends much, or gets a long reply, is not brief any more") {
  Served served;
  served.client.receive(std::string(kBriefInputBytes, 'x'));
  CHECK(served.client.input_share() == kInputShareBytes);
  served.client.receive("a");
  CHECK(served.client.input_share() == kBriefInputBytes);
}

TEST_CASE("client: what it keeps is counted until it closes") {
  Served served;
  served.told.kept_bytes = 5;
  served.client.receive("a");
  CHECK(served.kept.bytes() == 5);
  served.told.kept_bytes = 3;
  served.client.receive("b");
  CHECK(served.kept.bytes() == 3);
  served.socket.drop();
  CHECK(served.kept.bytes() == 0);
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
  served.client.receive("a");
  served.loop.run();
  const int read_ons = served.socket.read_ons;
  CHECK_FALSE(served.client.offer_input());
  served.loop.run();
  CHECK(served.socket.read_ons == read_ons);
  served.kept.count(other, 0);
  served.loop.run();
  CHECK(served.socket.read_ons == read_ons + 1);
  CHECK(served.client.offer_input());
  served.socket.drop();
}

TEST_CASE("client: when a turn has sent much, long output waits for the next turn") {
  Served served;
  served.socket.takes = 0;
  served.client.receive(std::string(kShortOutputBytes + 1, 'a'));
  served.loop.run();
  served.socket.takes = std::string::npos;
  served.parts.unsent.turn_sent_bytes = kTurnSentBytesMax;
  served.client.has_room();
  CHECK(served.socket.received.empty());
  served.parts.unsent.turn_sent_bytes = kTurnSentBytesMax - 1;
  served.loop.run();
  CHECK(served.socket.received.size() == kShortOutputBytes + 1);
  CHECK(served.parts.unsent.turn_sent_bytes == kTurnSentBytesMax + kShortOutputBytes);
}

TEST_CASE("client: when a turn has sent much, short output is sent in it all the same") {
  Served served;
  served.parts.unsent.turn_sent_bytes = kTurnSentBytesMax;
  served.client.receive(std::string(kShortOutputBytes, 'a'));
  served.loop.run();
  CHECK(served.socket.received.size() == kShortOutputBytes);
}

TEST_CASE("client: during a pause nothing is taken, and then it is told to read on") {
  Served served;
  served.loop.limits.is_compacting_only = true;
  served.loop.run();
  CHECK_FALSE(served.client.offer_input());
  const int before = served.socket.read_ons;
  served.loop.run();
  CHECK(served.socket.read_ons == before);
  served.loop.limits.is_compacting_only = false;
  served.loop.run();
  CHECK(served.socket.read_ons > before);
}

TEST_CASE("client: a session that is stopped during a pause executes what it kept afterwards") {
  Served served;
  served.loop.limits.is_compacting_only = true;
  served.loop.run();
  served.client.stop();
  served.loop.run();
  CHECK_FALSE(served.told.has_ended);
  CHECK_FALSE(served.socket.is_finished);
  served.loop.limits.is_compacting_only = false;
  served.loop.run();
  CHECK(served.told.has_ended);
  CHECK(served.told.has_closed);
}

TEST_CASE("client: a session whose time comes during a pause is resumed afterwards") {
  Served served;
  served.told.wake_at = served.loop.clock.now() + 1s;
  served.client.receive("a");
  served.loop.run();
  served.loop.limits.is_compacting_only = true;
  served.loop.run();
  served.loop.clock.set(served.told.wake_at);
  served.loop.run();
  CHECK(served.told.resumed == 0);
  served.loop.limits.is_compacting_only = false;
  served.loop.run();
  CHECK(served.told.resumed == 1);
}

TEST_CASE("client: one that is stopped is asked nothing more, and has its answers first") {
  Served served;
  served.socket.takes = 0;
  served.client.receive("a");
  served.client.stop();
  CHECK_FALSE(served.client.offer_input());
  CHECK_FALSE(served.socket.is_dropped);
  served.socket.takes = 1;
  served.loop.run();
  CHECK(served.socket.received == "a");
  CHECK(served.socket.is_finished);
}

}  // namespace
}  // namespace millrace::server
