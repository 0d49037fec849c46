#include <array>
#include <asio/io_context.hpp>

#include "server/relay/relay_ends.hpp"
#include "server/relay/relay_port.hpp"

namespace millrace::server {
namespace {

struct Piped {
  asio::io_context context;
  End sender{-1};
  End receiver{-1};
  RelaySocket from{context};
  RelaySocket to{context};
  std::array<char, 64 * 1024> room{};
  RelayPipe pipe{from, to};
  bool is_told = false;

  Piped() {
    const auto connect = [](End& end, RelaySocket& socket) {
      Ends ends = make_stream();
      end = std::move(ends.theirs);
      socket.assign({AF_UNIX, 0}, dup(ends.ours.descriptor()));
      socket.non_blocking(true);
    };
    connect(sender, from);
    connect(receiver, to);
  }
  /// As often as there is something to do at once.
  void work() {
    do {
      is_told = false;
      pipe.work(room);
      if (pipe.state() != RelayPipe::State::kOpen) return;
      pipe.wait([this](const std::error_code& problem) { is_told = !problem; });
      context.restart();
      context.poll();
    } while (is_told);
    from.cancel();
    to.cancel();
  }
};

TEST_CASE("relay pipe: what arrives is sent on") {
  Piped piped;
  piped.sender.send("put 0 0 60 1\r\nx\r\n");
  piped.work();
  CHECK(piped.receiver.receive() == "put 0 0 60 1\r\nx\r\n");
  CHECK(piped.pipe.state() == RelayPipe::State::kOpen);
}

TEST_CASE("relay pipe: the end is sent on after everything else") {
  Piped piped;
  piped.sender.send("last");
  piped.sender.finish();
  piped.work();
  CHECK(piped.receiver.receive() == "last|");
  CHECK(piped.pipe.state() == RelayPipe::State::kEnded);
}

TEST_CASE("relay pipe: a receiver that takes nothing holds the sender up") {
  Piped piped;
  const std::string much(16 << 20, 'x');
  std::size_t sent = 0;
  for (std::size_t now = 1; now > 0; sent += now) {
    now = piped.sender.send(std::string_view(much).substr(sent));
    piped.work();
  }
  CHECK(sent < much.size() / 4);
  // When it takes something, all of it arrives, in order.
  std::string taken;
  while (taken.size() < sent) {
    const std::string part = piped.receiver.receive();
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
  REQUIRE(setsockopt(piped.sender.descriptor(), SOL_SOCKET, SO_SNDBUFFORCE, &large, sizeof large) ==
          0);
  REQUIRE(setsockopt(piped.to.native_handle(), SOL_SOCKET, SO_SNDBUFFORCE, &large, sizeof large) ==
          0);
  REQUIRE(piped.sender.send(much) > 2 * kRelayRoundsPerTurn * piped.room.size());
  piped.pipe.work(piped.room);
  CHECK(piped.receiver.receive().size() == kRelayRoundsPerTurn * piped.room.size());
}

TEST_CASE("relay pipe: it tells which side is broken") {
  Piped sender_gone;
  sender_gone.from.send(asio::buffer("unread", 6));
  sender_gone.sender.close();
  sender_gone.work();
  CHECK(sender_gone.pipe.state() == RelayPipe::State::kSenderBroken);
  Piped receiver_gone;
  receiver_gone.receiver.close();
  receiver_gone.sender.send("x");
  receiver_gone.work();
  CHECK(receiver_gone.pipe.state() == RelayPipe::State::kReceiverBroken);
}

}  // namespace
}  // namespace millrace::server
