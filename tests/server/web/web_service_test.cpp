#include "server/web/web_service.hpp"

#include <memory>
#include <string>

#include "server/web/web_client.hpp"
#include "support/doctest.hpp"

namespace millrace::server {

TEST_CASE("web service: a Host name that may belong to somebody else is refused") {
  RunningServer::Setup setup = with_web();
  setup.options.config.web_hosts = {"jobs.example"};
  RunningServer running(std::move(setup));
  CHECK(ask(running, get("/api/v1/overview", "", "Host: evil.example\r\n")).status == 403);
  CHECK(ask(running, get("/api/v1/overview", "", "Host: jobs.example\r\n")).status == 200);
}

TEST_CASE("web service: an answer has the state that it shows and the id of the server process") {
  RunningServer running(with_web());
  SocketClient client = running.connect("web");
  CHECK(ask(client, post("/api/v1/jobs", kJob)).status == 201);
  const Answer answer = ask(client, get("/api/v1/jobs/count"));
  CHECK(answer.head.find("\r\nX-As-Of: 2.") != std::string::npos);
  const std::size_t instance = answer.head.find("\r\nX-Instance: ");
  REQUIRE(instance != std::string::npos);
  CHECK(ask(running, get("/api/v1/queues")).head.find(answer.head.substr(instance, 30)) !=
        std::string::npos);
  CHECK(answer.head.find("timeout=15,") != std::string::npos);
}

TEST_CASE("web service: an answer has the name of the server, if it has one") {
  CHECK(ask(*std::make_unique<RunningServer>(with_web()), get("/api/v1/queues"))
            .head.find("\r\nX-Name: ") == std::string::npos);
  RunningServer::Setup setup = with_web();
  setup.options.config.name = {.text = "prod é", .color = "red"};
  RunningServer running(std::move(setup));
  const std::string head = ask(running, get("/api/v1/queues")).head;
  CHECK(head.find("\r\nX-Name: prod%20%C3%A9\r\n") != std::string::npos);
  CHECK(head.find("\r\nX-Name-Color: red\r\n") != std::string::npos);
}

TEST_CASE(
    "web service: while the server stops, health is 503, reads are answered and changes refused") {
  SlowDisk slow;
  FakeJournal& disk = slow.disk;
  RunningServer& running = slow.running;
  SocketClient worker = running.connect("beanstalk");
  worker.send("put 0 0 60 1\r\nx\r\n");
  slow.await_record();
  running.on_loop([&] { running.server().stop(); });
  CHECK(ask(running, get("/health")).status == 503);
  CHECK(ask(running, get("/api/v1/overview")).status == 200);
  CHECK(ask(running, post("/api/v1/jobs", kJob)).status == 503);
  disk.make_durable(disk.end());
  running.settle_turns();
  running.stop();
  CHECK(worker.read(12) == "INSERTED 1\r\n");
}

}  // namespace millrace::server
