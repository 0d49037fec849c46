#include "server/relay/relay_pipe.hpp"

#include "server/relay/relay_ends.hpp"

namespace millrace::server {
namespace {

struct Piped {
  Ends sender = make_stream();
  Ends receiver = make_stream();
  RelayRoom room{};
  RelayPipe pipe{sender.ours.descriptor(), receiver.ours.descriptor()};

  /// As often as there is something to do at once.
  void work() {
    pipe.note_input(false);
    while (pipe.work(room)) continue;
  }
};

TEST_CASE("relay pipe: what arrives is sent on") {
  Piped piped;
  piped.sender.theirs.send("put 0 0 60 1\r\nx\r\n");
  piped.work();
  CHECK(piped.receiver.theirs.receive() == "put 0 0 60 1\r\nx\r\n");
  CHECK(piped.pipe.state() == RelayPipe::State::kOpen);
}

TEST_CASE("relay pipe: the end is sent on after everything else") {
  Piped piped;
  piped.sender.theirs.send("last");
  piped.sender.theirs.finish();
  piped.pipe.note_input(true);
  CHECK_FALSE(piped.pipe.work(piped.room));
  CHECK(piped.receiver.theirs.receive() == "last|");
  CHECK(piped.pipe.state() == RelayPipe::State::kEnded);
}

TEST_CASE("relay pipe: a receiver that takes nothing holds the sender up") {
  Piped piped;
  const std::string much(16 << 20, 'x');
  std::size_t sent = 0;
  for (std::size_t now = 1; now > 0; sent += now) {
    now = piped.sender.theirs.send(std::string_view(much).substr(sent));
    piped.work();
  }
  CHECK(sent < much.size() / 4);
  // When it takes something, all of it arrives, in order.
  std::string taken;
  while (taken.size() < sent) {
    const std::string part = piped.receiver.theirs.receive();
    REQUIRE_FALSE(part.empty());
    taken += part;
    piped.work();
  }
  CHECK(taken == much.substr(0, sent));
}

TEST_CASE("relay pipe: others have their turn after some rooms") {
  Piped piped;
  const std::string much(16 << 20, 'x');
  const int large = 8 << 20;
  REQUIRE(setsockopt(piped.sender.theirs.descriptor(), SOL_SOCKET, SO_SNDBUFFORCE, &large,
                     sizeof large) == 0);
  REQUIRE(setsockopt(piped.receiver.ours.descriptor(), SOL_SOCKET, SO_SNDBUFFORCE, &large,
                     sizeof large) == 0);
  REQUIRE(piped.sender.theirs.send(much) > 2 * kRelayRoundsPerTurn * piped.room.size());
  piped.pipe.note_input(false);
  CHECK(piped.pipe.work(piped.room));
  CHECK(piped.receiver.theirs.receive().size() == kRelayRoundsPerTurn * piped.room.size());
}

TEST_CASE("relay pipe: it tells which side is broken") {
  Piped sender_gone;
  sender_gone.sender.ours.close();
  sender_gone.work();
  CHECK(sender_gone.pipe.state() == RelayPipe::State::kSenderBroken);
  Piped receiver_gone;
  receiver_gone.receiver.theirs.close();
  receiver_gone.sender.theirs.send("x");
  receiver_gone.work();
  CHECK(receiver_gone.pipe.state() == RelayPipe::State::kReceiverBroken);
}

}  // namespace
}  // namespace millrace::server
