#include "server/web/web_gate.hpp"

#include <chrono>
#include <future>
#include <stdexcept>

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
  while (disk.end() == 0) running.settle_turns();
  CHECK(client.read_available().empty());
  CHECK(ask(running, get("/api/v1/jobs/1")).status == 200);
  CHECK(client.read_available().empty());
  disk.make_durable(disk.end());
  CHECK(read_answer(client).status == 201);
}

TEST_CASE("web gate: a question that fails costs its own answer, and nothing else") {
  TestLoop loop;
  WebGate gate(loop.poller, loop.turn);
  auto asked = std::async(std::launch::async, [&gate] {
    return gate.ask(WebGate::kAnswerMax,
                    []() -> http::Response { throw std::runtime_error("a bug"); });
  });
  while (asked.wait_for(0s) != std::future_status::ready) loop.run();
  const std::optional<http::Response> answer = asked.get();
  REQUIRE(answer.has_value());
  CHECK(answer->status == 500);
  CHECK(answer->body.find("a bug") != std::string::npos);
}

TEST_CASE("web gate: a change that waits for the disk is answered when the server stops") {
  SlowDisk slow;
  FakeJournal& disk = slow.disk;
  RunningServer& running = slow.running;
  SocketClient client = running.connect("web");
  client.send(post("/api/v1/jobs", kJob));
  while (disk.end() == 0) running.settle_turns();
  running.stop();
  CHECK(read_answer(client).status == 201);
  CHECK(client.is_closed_by_server());
}

}  // namespace millrace::server
