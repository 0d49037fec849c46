#include "faktory/session/long/job_list.hpp"

#include "faktory/service.hpp"
#include "faktory/session/command.hpp"
#include "faktory/session/line_buffer.hpp"
#include "faktory/session/talking.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {

TEST_CASE("PUSHB: more jobs than one slice") {
  InMemoryServer server;
  join(server, "a");
  std::string jobs;
  for (int i = 0; i < 1'201; ++i) jobs += job("job-" + std::to_string(100'000 + i)) + ",";
  CHECK(server.ask("a", "PUSHB [" + jobs + "{}]\r\nACK {\"jid\":\"x\"}\r\n") ==
        "$48\r\n{\"\":\"jobs must have a reasonable jid parameter\"}\r\n+OK\r\n");
  CHECK(contains(info(server, "a"), R"("default":1201)"));
  CHECK(contains(server.ask("a", "FETCH default\r\n"), "job-100000"));
}

TEST_CASE("PUSHB: what is wrong at its end leaves nothing pushed") {
  for (const std::size_t bytes : {100UL, kInPlaceBytes, kLongLineBytes}) {
    InMemoryServer server;
    join(server, "a");
    std::string jobs;
    while (jobs.size() < bytes) jobs += job("job-12345") + ",";
    CHECK(server.ask("a", "PUSHB [" + jobs + "7]\nACK {\"jid\":\"x\"}\n") ==
          "-ERR invalid JSON: a job must be an object\r\n+OK\r\n");
    CHECK(contains(info(server, "a"), R"("total_enqueued":0)"));
  }
}

TEST_CASE("PUSHB: is pushed in slices, and others are served between them") {
  LoneSession lone;
  std::string jobs;
  for (std::size_t i = 0; i < 2 * kSliceJobs + 1; ++i) {
    jobs += "," + job("job-" + std::to_string(100'000 + i));
  }
  const std::string line = "PUSHB [" + jobs.substr(1) + "]\n";
  lone.session->receive(line, lone.server.now());
  const auto count = [&] { return lone.server.broker().view().orders().count(JobState::kReady); };
  for (std::size_t slices = 1; slices < 3; ++slices) {
    CHECK(count() <= slices * kSliceJobs);
    CHECK(lone.session->output().empty());
    CHECK(lone.session->kept_bytes() > 0);
    lone.session->resume(lone.server.now());
  }
  CHECK(count() == 2 * kSliceJobs + 1);
  CHECK(lone.session->output() == "$2\r\n{}\r\n");
  CHECK(lone.session->kept_bytes() == 0);
}

TEST_CASE("PUSHB: all jobs are created when it came, however long it takes") {
  InMemoryServer server;
  WorkUnits format;
  Service service(server.broker(), format, {}, server.now());
  const std::unique_ptr<Session> session = service.open();
  const Time came = server.now() + 1ns;
  session->start(came);
  session->receive("HELLO {\"v\":2}\n", came);
  std::string jobs;
  for (int i = 0; i < 1'201; ++i) {
    jobs += R"(,{"jid":"job-number-)" + std::to_string(i) + R"(","jobtype":"T","args":[]})";
  }
  session->receive("PUSHB [" + jobs.substr(1) + "]\n", came);
  Time now = came;
  while (session->wants_resume()) session->resume(now += 1s);
  CHECK(now > came);
  const View view = server.broker().view();
  for (JobId id = 1; id <= 1'201; ++id) CHECK(view.jobs().find(id)->created_at == came);
  CHECK(view.jobs().find(1'201)->enqueued_at == now);
  std::string shown;
  format.render(*view.jobs().find(1'201), "default", {}, shown);
  CHECK(contains(shown, R"("created_at":"2023-11-14T22:13:20.000000001Z","enqueued_at":)"));
  session->close(now);
}

TEST_CASE("PUSHB: large jobs are pushed one batch of records at a time") {
  InMemoryServer server;
  join(server, "a");
  const std::string large = R"(,"x":{"x":")" + std::string(400'000, 'x') + R"("})";
  std::string jobs;
  for (int i = 0; i < 10; ++i) jobs += "," + job("job-" + std::to_string(100'000 + i), large);
  CHECK(server.ask("a", "PUSHB [" + jobs.substr(1) + "]\n") == "$2\r\n{}\r\n");
  std::size_t total = 0;
  for (const std::string& batch : server.take_batches()) {
    total += batch.size();
    CHECK(batch.size() < kBatchBytesPause + 500'000);
  }
  CHECK(total > 4'000'000);
}

TEST_CASE("PUSHB: a client that closes its side gets the answer of a long one") {
  InMemoryServer server;
  join(server, "a");
  join(server, "b");
  std::string jobs;
  for (int i = 0; i < 1'201; ++i) jobs += "," + job("job-" + std::to_string(100'000 + i));
  server.send("a", "PUSHB [" + jobs.substr(1) + "]\n");
  server.half_close("a");
  CHECK(server.take_output("a") == "$2\r\n{}\r\n");
  CHECK_FALSE(server.is_open("a"));
  CHECK(contains(info(server, "b"), R"("default":1201)"));
}

}  // namespace millrace::faktory
