#include "server/web/web_port.hpp"

#include <chrono>
#include <string>
#include <vector>

#include "server/process/process.hpp"
#include "server/web/web_client.hpp"
#include "support/doctest.hpp"

namespace millrace::server {

TEST_CASE("web port: a slow request delays no other") {
  RunningServer running(with_web());
  std::vector<SocketClient> slow;
  const std::string request = post("/api/v1/jobs", kJob);
  for (std::size_t i = 0; i < 12; ++i) {
    slow.push_back(running.connect("web"));
    slow.back().send(request.substr(0, i % 2 == 0 ? 20 : request.size() - 1));
  }
  const auto took = time_of([&] { CHECK(ask(running, get("/health")).status == 200); });
  CHECK(took < std::chrono::seconds(2));
  CHECK(ask(slow.back(), request.substr(request.size() - 1)).status == 201);
}

TEST_CASE("web port: a new connection replaces the one that has been idle for longest") {
  RunningServer running(with_web());
  std::vector<SocketClient> idle;
  for (std::size_t i = 0; i < kWebConnectionsMax; ++i) idle.push_back(running.connect("web"));
  CHECK(ask(idle.front(), get("/health")).status == 200);
  const auto took = time_of([&] { CHECK(ask(running, get("/health")).status == 200); });
  CHECK(took < std::chrono::seconds(2));
  CHECK(idle[1].is_closed_by_server());
  CHECK(ask(idle[2], get("/health")).status == 200);
  CHECK(ask(idle.front(), get("/health")).status == 200);
}

TEST_CASE("web port: a slow head is replaced before a slow body") {
  RunningServer running(with_web());
  const std::string request = post("/api/v1/jobs", kJob);
  SocketClient sending = running.connect("web");
  sending.send(request.substr(0, request.size() - 1));
  std::vector<SocketClient> slow;
  for (std::size_t i = 1; i < kWebConnectionsMax; ++i) {
    slow.push_back(running.connect("web"));
    // The answer shows that the server has read the head after it too.
    CHECK(ask(slow.back(), get("/health") + "GET /health").status == 200);
  }
  const auto took = time_of([&] { CHECK(ask(running, get("/health")).status == 200); });
  CHECK(took < std::chrono::seconds(2));
  CHECK(ask(sending, request.substr(request.size() - 1)).status == 201);
}

TEST_CASE("web port: of slow bodies, the one that began first is replaced") {
  RunningServer running(with_web());
  const std::string request = post("/api/v1/jobs", kJob);
  std::vector<SocketClient> slow;
  for (std::size_t i = 0; i < kWebConnectionsMax; ++i) {
    slow.push_back(running.connect("web"));
    slow.back().send(request.substr(0, request.size() - 1));
    if (i == 0) CHECK(slow.front().read_some(100ms).empty());  // it is ahead
  }
  const auto took = time_of([&] { CHECK(ask(running, get("/health")).status == 200); });
  CHECK(took < std::chrono::seconds(2));
  CHECK(slow.front().is_closed_by_server());
  CHECK(ask(slow.back(), request.substr(request.size() - 1)).status == 201);
}

TEST_CASE("web port: long bodies that arrive at once are refused beyond a limit") {
  RunningServer::Setup setup = with_web();
  setup.options.config.job_bytes_max = kWebBodiesMax;
  RunningServer running(std::move(setup));
  const auto begin_post = [&](std::size_t body_bytes) {
    SocketClient client = running.connect("web");
    const std::string whole = post("/api/v1/jobs", kJob);
    const std::string length = "Content-Length: " + std::to_string(kJob.size());
    std::string head = whole.substr(0, whole.size() - kJob.size());
    head.replace(head.find(length), length.size(), "Content-Length: " + std::to_string(body_bytes));
    client.send(head);
    return client;
  };
  SocketClient small = begin_post(kJob.size());
  {
    SocketClient first = begin_post(kWebBodiesMax);
    CHECK(first.read_some(100ms).empty());
    SocketClient second = begin_post(kWebBodiesMax / 2);
    CHECK(read_answer(second).status == 503);
    CHECK(ask(small, kJob).status == 201);
  }
  // Until the server has noticed that the first is gone. The small one stays, and takes nothing.
  for (;;) {
    SocketClient third = begin_post(kWebBodiesMax);
    if (third.read_some(100ms).empty()) break;
  }
}

TEST_CASE("web port: a body that arrives byte by byte can be replaced") {
  RunningServer running(with_web());
  const std::string request = post("/api/v1/jobs", std::string(5000, ' '));
  std::vector<SocketClient> slow;
  for (std::size_t i = 0; i < kWebConnectionsMax; ++i) {
    slow.push_back(running.connect("web"));
    slow.back().send(request.substr(0, request.size() - 4000));
  }
  CHECK(slow.front().read_some(100ms).empty());
  for (SocketClient& each : slow) each.send(" ");
  const auto took = time_of([&] { CHECK(ask(running, get("/health")).status == 200); });
  // The bodies may take `kWebBodyMax`, which is six times as long.
  CHECK(took < std::chrono::seconds(5));
}

TEST_CASE("web port: a refused client that stays connected can be replaced") {
  RunningServer running(with_web());
  std::vector<SocketClient> refused;
  for (std::size_t i = 0; i < kWebConnectionsMax; ++i) {
    refused.push_back(running.connect("web"));
    refused.back().send("POST /api/v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n");
  }
  for (SocketClient& each : refused) REQUIRE(read_answer(each).status == 415);
  // At once, and so again and again.
  const auto took = time_of([&] {
    for (int i = 0; i < 20; ++i) {
      refused.push_back(running.connect("web"));
      refused.back().send("GET /  HTTP/1.1\r\nHost: a\r\n\r\n");
      REQUIRE(read_answer(refused.back()).status == 400);
    }
    CHECK(ask(running, get("/health")).status == 200);
  });
  CHECK(took < std::chrono::seconds(1));
}

TEST_CASE("web port: a probe does not wait for a thousand idle clients") {
  RunningServer running(with_web());
  std::vector<SocketClient> idle;
  for (int i = 0; i < 1000; ++i) idle.push_back(running.connect("web"));
  const auto took = time_of([&] { CHECK(ask(running, get("/health")).status == 200); });
  CHECK(took < std::chrono::seconds(2));
}

TEST_CASE("web port: more clients than the limit that ask at once are all answered") {
  RunningServer running(with_web());
  std::vector<SocketClient> many;
  for (std::size_t i = 0; i < 2 * kWebConnectionsMax; ++i) {
    many.push_back(running.connect("web"));
    many.back().send(get("/stats", "Connection: close\r\n"));
  }
  for (SocketClient& each : many) REQUIRE(read_answer(each).status == 200);
}

TEST_CASE("web port: a client that waits for its answer is not replaced") {
  SlowDisk slow;
  RunningServer& running = slow.running;
  SocketClient waiting = running.connect("web");
  waiting.send(post("/api/v1/jobs", kJob));
  slow.await_record();
  for (std::size_t i = 0; i < 2 * kWebConnectionsMax; ++i) {
    REQUIRE(ask(running, get("/health")).status == 200);
  }
  slow.disk.make_durable(slow.disk.end());
  CHECK(read_answer(waiting).status == 201);
}

TEST_CASE("web port: an unread answer delays no other, and can be read later") {
  RunningServer running(with_web());
  std::vector<SocketClient> slow;
  std::string many;
  for (int i = 0; i < 400; ++i) many += get("/api/v1/openapi.json");
  for (std::size_t i = 0; i < 12; ++i) {
    slow.push_back(running.connect("web"));
    slow.back().send(many);
  }
  const auto took = time_of([&] { CHECK(ask(running, get("/health")).status == 200); });
  CHECK(took < std::chrono::seconds(2));
  const std::size_t bytes = read_answer(slow.back()).body.size();
  CHECK(bytes > 50'000);
  for (int i = 1; i < 400; ++i) REQUIRE(read_answer(slow.back()).body.size() == bytes);
}

TEST_CASE("web port: changes that wait for the disk delay no reads") {
  SlowDisk slow;
  FakeJournal& disk = slow.disk;
  RunningServer& running = slow.running;
  std::vector<SocketClient> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(running.connect("web"));
    clients.back().send(post("/api/v1/jobs", kJob));
  }
  const auto has_jobs = [&](std::size_t count) {
    const std::string body = ask(running, get("/api/v1/jobs/count?state=ready")).body;
    return body.find("\"matched\":" + std::to_string(count) + ",") != std::string::npos;
  };
  while (!has_jobs(clients.size())) running.settle_turns();
  CHECK(ask(running, get("/health")).status == 200);
  for (SocketClient& each : clients) CHECK(each.read_available().empty());
  disk.make_durable(disk.end());
  for (SocketClient& each : clients) CHECK(read_answer(each).status == 201);
}

TEST_CASE("web port: a long job is worked off while other requests are answered") {
  RunningServer running(with_web());
  SocketClient client = running.connect("web");
  const std::string args(4 * kWebLongBytes, 'a');
  client.send(post("/api/v1/jobs", R"({"jobtype":"A","args":[")" + args + R"("]})"));
  CHECK(ask(running, get("/health")).status == 200);
  CHECK(read_answer(client).status == 201);
  CHECK(ask(client, get("/api/v1/jobs/1/body")).body.size() > args.size());
}

}  // namespace millrace::server
