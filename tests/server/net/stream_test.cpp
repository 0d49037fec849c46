#include "server/net/stream.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <string>

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// A stream that is told, and the other end of its socket.
struct Told final : Stream::Owner {
  Told() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    stream.emplace(context, ends[0], nullptr);
    other = ends[1];
    REQUIRE(stream->begin(*this));
  }
  ~Told() override { close_other(); }

  void on_input() override { ++inputs; }
  void on_room() override { ++rooms; }

  void run() {
    context.restart();
    context.poll();
  }
  void say(const std::string& text) const {
    REQUIRE(::send(other, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  }
  void close_other() {
    if (other >= 0) ::close(std::exchange(other, -1));
  }
  Stream::Received receive() { return stream->receive(buffer, kReceiveBytes); }

  asio::io_context context;
  ReceiveBuffer buffer;
  std::optional<Stream> stream;
  int other = -1;
  int inputs = 0;
  int rooms = 0;
};

TEST_CASE("stream: a short input is told once, and is all there is") {
  Told told;
  told.say("one");
  told.run();
  CHECK(told.inputs == 1);
  const Stream::Received received = told.receive();
  CHECK(received.bytes == "one");
  CHECK(received.is_empty);
  CHECK(told.receive().is_nothing);
  told.say("two");
  told.run();
  CHECK(told.inputs == 1);
  told.stream->await_input();
  told.run();
  CHECK(told.inputs == 2);
  CHECK(told.receive().bytes == "two");
}

TEST_CASE("stream: what exceeds the first bytes is received with them") {
  Told told;
  const std::string text = std::string(kFirstBytes, 'a') + std::string(1000, 'b');
  told.say(text);
  told.run();
  CHECK(told.inputs == 1);
  const Stream::Received received = told.receive();
  CHECK(received.bytes == text);
  CHECK(received.is_empty);
}

TEST_CASE("stream: no more is received than is wanted, and the rest later") {
  Told told;
  told.say(std::string(kFirstBytes + 100, 'a'));
  told.run();
  const Stream::Received first = told.stream->receive(told.buffer, kFirstBytes);
  CHECK(first.bytes.size() == kFirstBytes);
  CHECK_FALSE(first.is_empty);
  CHECK(told.receive().bytes.size() == 100);
}

TEST_CASE("stream: first bytes that are just filled may be all there is") {
  Told told;
  told.say(std::string(kFirstBytes, 'a'));
  SUBCASE("so far") {}
  SUBCASE("before the end") {
    told.close_other();
  }
  told.run();
  const Stream::Received received = told.receive();
  CHECK(received.bytes.size() == kFirstBytes);
  CHECK(received.is_empty);
  CHECK(told.stream->has_end() == (told.other < 0));
}

TEST_CASE("stream: the end comes after the bytes before it") {
  Told told;
  told.say("last");
  told.close_other();
  told.run();
  CHECK(told.receive().bytes == "last");
  told.stream->await_input();
  told.run();
  CHECK(told.inputs == 2);
  CHECK(told.stream->has_end());
  CHECK(told.receive().is_end);
}

TEST_CASE("stream: room is told when there was none") {
  Told told;
  const std::string bytes(65536, 'x');
  while (!told.stream->is_full()) REQUIRE(told.stream->send(bytes).has_value());
  told.run();
  CHECK(told.rooms == 0);
  std::string taken(bytes.size(), '\0');
  while (::recv(told.other, taken.data(), taken.size(), MSG_DONTWAIT) > 0) {
  }
  told.run();
  CHECK(told.rooms == 1);
  CHECK_FALSE(told.stream->is_full());
}

TEST_CASE("stream: one that is not received from is told that it is broken") {
  Told told;
  told.say(std::string(kFirstBytes, 'a'));
  told.run();
  told.stream->await_break();
  told.run();
  CHECK_FALSE(told.stream->is_broken());
  told.close_other();
  told.run();
  CHECK(told.stream->is_broken());
  CHECK(told.inputs == 2);
}

TEST_CASE("stream: a break that is known with the last bytes is told after them") {
  Told told;
  told.say(std::string(kFirstBytes, 'a'));
  told.run();
  CHECK(told.receive().bytes.size() == kFirstBytes);
  told.stream->await_break();
  told.stream->await_input();
  told.say("x");
  told.close_other();
  told.run();
  REQUIRE(told.stream->is_broken());
  const Stream::Received last = told.receive();
  CHECK(last.bytes == "x");
  CHECK_FALSE(last.is_empty);
  CHECK(told.receive().is_failed);
}

TEST_CASE("stream: nobody is told after its end, though a handler waits") {
  Told told;
  told.say("x");
  SUBCASE("stopped") {
    told.stream->stop();
  }
  SUBCASE("destroyed") {
    told.stream.reset();
  }
  SUBCASE("destroyed with room awaited") {
    const std::string bytes(65536, 'x');
    while (!told.stream->is_full()) REQUIRE(told.stream->send(bytes).has_value());
    told.stream.reset();
  }
  told.run();
  CHECK(told.inputs == 0);
  CHECK(told.rooms == 0);
}

TEST_CASE("stream: the context may end before a handler has run") {
  Told told;
  told.say("x");
  told.stream.reset();
}

}  // namespace
}  // namespace millrace::server
