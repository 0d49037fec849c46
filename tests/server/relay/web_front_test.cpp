#include "server/relay/web_front.hpp"

#include <optional>
#include <vector>

#include "server/relay/relay_ends.hpp"

namespace millrace::server {
namespace {

struct Screened {
  Poller poller;
  std::vector<End> passed_on;
  WebFront screen{
      {.poller = poller,
       .answer = [](std::string_view method, std::string_view path) -> std::optional<std::string> {
         if (path != "/health") return std::nullopt;
         return std::string(method) + " answered";
       },
       .pass_on =
           [this](Listener::Accepted accepted) { passed_on.emplace_back(accepted.descriptor); }}};

  End connect() { return connect(screen); }
  static End connect(WebFront& front) {
    Ends ends = make_stream();
    front.add({.descriptor = dup(ends.ours.descriptor()), .peer = "", .is_unix = true}, Time{1s});
    return std::move(ends.theirs);
  }
  void turn() {
    poller.take(1ms);
    screen.work(Time{1s});
  }
};

TEST_CASE("web screen: what is for this server is answered when its head is there") {
  Screened screened;
  const End client = screened.connect();
  client.send("GET /health?a=b HTTP/1.1\r\nHost: x\r\n");
  screened.turn();
  CHECK(client.receive().empty());
  client.send("\r\n");
  screened.turn();
  CHECK(client.receive() == "GET answered|");
  CHECK(screened.screen.count() == 0);
}

TEST_CASE(
    "web screen: targets with a host and lines that end with LF are taken as the web port does") {
  Screened screened;
  const End client = screened.connect();
  client.send("GET http://x/health HTTP/1.1\r\n\r\n");
  const End other = screened.connect();
  other.send("\r\nHEAD /health HTTP/1.1\nHost: x\n\n");
  screened.turn();
  CHECK(client.receive() == "GET answered|");
  CHECK(other.receive() == "HEAD answered|");
}

TEST_CASE("web screen: all else is passed on with nothing taken, once its first line is there") {
  Screened screened;
  const End client = screened.connect();
  client.send("GET /heal");
  screened.turn();
  CHECK(screened.passed_on.empty());
  client.send("er HTTP/1.1\r\n");
  screened.turn();
  REQUIRE(screened.passed_on.size() == 1);
  CHECK(screened.passed_on.front().receive() == "GET /healer HTTP/1.1\r\n");
}

TEST_CASE("web screen: a line that is too long, or no line, is the leader's to refuse") {
  Screened screened;
  const End client = screened.connect();
  client.send(std::string(kScreenedBytesMax, 'x'));
  screened.turn();
  CHECK(screened.passed_on.size() == 1);
  const End ended = screened.connect();
  ended.send("x");
  ended.finish();
  screened.turn();
  CHECK(screened.passed_on.size() == 2);
}

TEST_CASE("web screen: a client that sends nothing is closed after five seconds") {
  Screened screened;
  const End client = screened.connect();
  screened.screen.work(Time{1s} + kWebFrontMax - 1ms);
  CHECK(screened.screen.count() == 1);
  screened.screen.work(Time{1s} + kWebFrontMax);
  CHECK(client.receive() == "|");
}

TEST_CASE("web screen: what its clients send may come after its end") {
  Screened screened;
  std::optional<WebFront> other(
      std::in_place, WebFront::Parts{.poller = screened.poller, .answer = {}, .pass_on = {}});
  const End client = Screened::connect(*other);
  client.send("GET / HTTP/1.1\r\n\r\n");
  other.reset();
  screened.turn();
  CHECK(client.send("x") == 0);
}

TEST_CASE("web screen: a client that leaves is forgotten") {
  Screened screened;
  End client = screened.connect();
  client.close();
  screened.turn();
  CHECK(screened.screen.count() == 0);
}

}  // namespace
}  // namespace millrace::server
