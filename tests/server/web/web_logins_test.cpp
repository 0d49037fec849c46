#include "server/web/web_logins.hpp"

#include <chrono>
#include <string_view>
#include <vector>

#include "server/web/web_client.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// `a:right` and `a:wrong`.
constexpr std::string_view kRight = "Authorization: Basic YTpyaWdodA==\r\n";
constexpr std::string_view kWrong = "Authorization: Basic YTp3cm9uZw==\r\n";

}  // namespace

TEST_CASE("web logins: a wrong password ends the connection, a missing one does not") {
  RunningServer running(with_web("right"));
  SocketClient client = running.connect("web");
  CHECK(ask(client, get("/stats")).status == 401);
  CHECK(ask(client, get("/stats", kRight)).status == 200);
  client.send(get("/stats", kWrong) + get("/stats", kRight));
  CHECK(read_answer(client).status == 401);
  CHECK(client.is_closed_by_server());
}

TEST_CASE(
    "web logins: after some wrong passwords the address waits, and the right password is "
    "accepted") {
  RunningServer running(with_web("right"));
  SocketClient known = running.connect("web");
  CHECK(ask(known, get("/stats", kRight)).status == 200);
  for (std::uint32_t i = 0; i <= faktory::kFreeFailures; ++i) {
    CHECK(ask(running, get("/stats", kWrong)).status == 401);
  }
  const auto took = time_of([&] { CHECK(ask(running, get("/stats", kRight)).status == 200); });
  CHECK(took >= std::chrono::milliseconds(90));
  // A connection that has shown the password before does not wait.
  CHECK(ask(known, get("/stats", kRight)).status == 200);
}

TEST_CASE("web logins: guesses that are sent at once wait, and hold no thread") {
  constexpr std::size_t kAtOnce = 60;
  RunningServer running(with_web("right"));
  SocketClient known = running.connect("web");
  CHECK(ask(known, get("/stats", kRight)).status == 200);
  std::vector<SocketClient> tries;
  for (std::size_t i = 0; i < kAtOnce; ++i) tries.push_back(running.connect("web"));
  const auto took = time_of([&] {
    for (SocketClient& each : tries) each.send(get("/stats", kWrong));
    // All threads are free for others.
    CHECK(ask(known, get("/stats", kRight)).status == 200);
    for (SocketClient& each : tries) CHECK(read_answer(each).status == 401);
  });
  // The last of about 53 waits for 0.1 s times their square root.
  CHECK(took >= std::chrono::milliseconds(500));
}

}  // namespace millrace::server
