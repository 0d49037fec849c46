#include "server/web/web_gate.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>

#include "server/turn/test_loop.hpp"
#include "server/web/web_client.hpp"
#include "support/doctest.hpp"

namespace millrace::server {

TEST_CASE("web gate: a change is answered when it is durable, a read at once") {
  SlowDisk slow;
  FakeJournal& disk = slow.disk;
  RunningServer& running = slow.running;
  SocketClient client = running.connect("web");
  client.send(post("/api/v1/jobs", kJob));
  slow.await_record();
  CHECK(client.read_available().empty());
  CHECK(ask(running, get("/api/v1/jobs/1")).status == 200);
  CHECK(client.read_available().empty());
  disk.make_durable(disk.end());
  CHECK(read_answer(client).status == 201);
}

TEST_CASE("web gate: a question that fails costs its own answer, and nothing else") {
  TestLoop loop;
  WebGate gate(loop.poller, loop.turn);
  std::optional<http::Response> answer;
  gate.ask([]() -> http::Response { throw std::runtime_error("a bug"); },
           [&](auto response) { answer = std::move(response); });
  loop.run();
  REQUIRE(answer.has_value());
  CHECK(answer->status == 500);
  CHECK(answer->body.find("a bug") != std::string::npos);
  gate.close(true);
}

TEST_CASE("web gate: a turn of the loop runs a few questions, and the next turns run the rest") {
  TestLoop loop;
  WebGate gate(loop.poller, loop.turn);
  int run = 0;
  for (int i = 0; i <= WebGate::kQuestionsPerTurn; ++i) {
    gate.ask(
        [&run] {
          ++run;
          return http::Response{};
        },
        [](const auto&) {});
  }
  loop.poller.take(0s);
  CHECK(run == WebGate::kQuestionsPerTurn);
  loop.poller.take(0s);
  CHECK(run == WebGate::kQuestionsPerTurn + 1);
  gate.close(true);
}

TEST_CASE("web gate: it has room for as many changes that wait for the disk as its limit says") {
  TestLoop loop;
  WebGate gate(loop.poller, loop.turn);
  std::size_t unknown = 0;
  const auto change = [&] {
    gate.ask([] { return http::Response{.is_change = true}; },
             [&unknown](const auto& response) { unknown += response ? 0 : 1; });
    loop.poller.take(0s);
  };
  for (std::size_t i = 1; i < kWebChangesMax; ++i) change();
  CHECK(!gate.is_full());
  change();
  CHECK(gate.is_full());
  gate.close(false);
  CHECK(unknown == kWebChangesMax);
}

TEST_CASE("web gate: what is asked after the end of the loop is answered as unknown") {
  TestLoop loop;
  WebGate gate(loop.poller, loop.turn);
  int unknown = 0;
  const auto ask = [&] {
    gate.ask([] { return http::Response{}; },
             [&unknown](const auto& response) { unknown += response ? 0 : 1; });
  };
  ask();
  CHECK(unknown == 0);
  gate.close(true);
  CHECK(unknown == 1);
  ask();
  CHECK(unknown == 2);
}

TEST_CASE("web gate: a change that waits for the disk is answered when the server stops") {
  SlowDisk slow;
  RunningServer& running = slow.running;
  SocketClient client = running.connect("web");
  client.send(post("/api/v1/jobs", kJob));
  slow.await_record();
  running.stop();
  CHECK(read_answer(client).status == 201);
  CHECK(client.is_closed_by_server());
}

}  // namespace millrace::server
