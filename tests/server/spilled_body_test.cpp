/// Bodies that only the log holds, on a disk that does not keep them.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "journal/file_journal.hpp"
#include "server/running_server.hpp"
#include "server/web/web_client.hpp"
#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::server {
namespace {

constexpr int kJobs = 100;

std::string body_of(int id) {
  const std::string name = "<job " + std::to_string(id) + ">";
  return name + std::string(2000 - name.size(), '.');
}

/// A server with more bodies than may be in memory.
struct SpillingServer {
  enum class Jobs { kPut, kThere };

  explicit SpillingServer(const std::string& path, Jobs jobs = Jobs::kPut)
      : directory(path), running(setup()) {
    if (jobs == Jobs::kThere) return;
    SocketClient client = running.connect("beanstalk");
    for (int id = 1; id <= kJobs; ++id) {
      const std::string expected = "INSERTED " + std::to_string(id) + "\r\n";
      CHECK(client.ask("put 0 0 60 2000\r\n" + body_of(id) + "\r\n", expected) == expected);
    }
  }

  RunningServer::Setup setup() {
    auto journal = journal::FileJournal::open(files, directory, {.segment_bytes = 1 << 20});
    REQUIRE_MESSAGE(journal, journal.error().text);
    RunningServer::Setup made = with_web();
    made.options.config.memory_bytes_max = 40'000;
    log = journal->get();
    made.journal = std::move(*journal);
    return made;
  }

  /// Flips a bit after the name that the job's body begins with.
  void spoil(int id) const {
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      if (entry.path().extension() != ".log") continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      const std::size_t at = bytes.find(body_of(id).substr(0, 20));
      REQUIRE(at != std::string::npos);
      file.seekp(static_cast<std::streamoff>(at) + 1000);
      file.put('/');
      return;
    }
  }

  /// Until the segment is gone that was there first.
  void wait_for_trim() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < end) {
      Lsn begin = 0;
      running.on_loop([&] { begin = log->extent().begin; });
      if (begin > 0) return;
      std::this_thread::yield();
    }
    FAIL("the damage stays in the log");
  }

  const std::string directory;
  journal::PosixFileSystem files;
  Journal* log = nullptr;
  RunningServer running;
};

}  // namespace

TEST_CASE("spilled body: one that has changed on the disk is not handed out, and others are") {
  const Scratch scratch;
  SpillingServer server(scratch.path("data"));
  server.spoil(70);
  SocketClient client = server.running.connect("beanstalk");
  CHECK(client.ask("peek 70\r\n", "INTERNAL_ERROR\r\n") == "INTERNAL_ERROR\r\n");
  CHECK(client.ask("reserve-job 70\r\n", "NOT_FOUND\r\n") == "NOT_FOUND\r\n");
  // Its neighbours are in the same stretch of the log.
  for (const int id : {1, 30, 69, 71, 72, 100}) {
    const std::string expected =
        "RESERVED " + std::to_string(id) + " 2000\r\n" + body_of(id) + "\r\n";
    CHECK(client.ask("reserve-job " + std::to_string(id) + "\r\n", expected) == expected);
  }
  CHECK(client.ask("delete 70\r\n", "DELETED\r\n") == "DELETED\r\n");
  server.running.stop();
  const std::string& logged = server.running.logged();
  CHECK(logged.find("body_unreadable job=70 queue=default problem=") != std::string::npos);
  CHECK(logged.find(" is damaged at offset ") != std::string::npos);
  CHECK(logged.find("session_failed") == std::string::npos);
}

TEST_CASE("spilled body: the page of a job without it shows why, and the server goes on") {
  const Scratch scratch;
  SpillingServer server(scratch.path("data"));
  server.spoil(70);
  // The first answer comes before the job is dead.
  CHECK(ask(server.running, get("/api/v1/jobs/70")).status == 200);
  server.running.settle();
  const Answer page = ask(server.running, get("/api/v1/jobs/70"));
  CHECK(page.body.find("\"is_body_unreadable\":true") != std::string::npos);
  CHECK(page.body.find("\"state\":\"dead\"") != std::string::npos);
  CHECK(page.body.find("body unreadable: ") != std::string::npos);
  CHECK(page.body.find(" is damaged at offset ") != std::string::npos);
  CHECK(ask(server.running, get("/api/v1/jobs/70/body")).status == 410);
  CHECK(ask(server.running, post("/api/v1/jobs/70/retry", "{}")).status == 409);
  CHECK(ask(server.running, get("/api/v1/jobs?state=dead")).status == 200);
  const std::string metrics = ask(server.running, get("/metrics")).body;
  CHECK(metrics.find("\nmillrace_unreadable_jobs 1\n") != std::string::npos);
  CHECK(metrics.find("\nmillrace_bodies_unreadable_total 1\n") != std::string::npos);
  const std::string overview = ask(server.running, get("/api/v1/overview")).body;
  CHECK(overview.find("The body of 1 job could not be read from the journal") != std::string::npos);
}

TEST_CASE("spilled body: the next start does not meet the damage, and knows the job") {
  const Scratch scratch;
  const std::string directory = scratch.path("data");
  {
    SpillingServer server(directory);
    server.spoil(70);
    SocketClient client = server.running.connect("beanstalk");
    CHECK(client.ask("peek 70\r\n", "INTERNAL_ERROR\r\n") == "INTERNAL_ERROR\r\n");
    server.wait_for_trim();
    server.running.stop();
  }
  SpillingServer again(directory, SpillingServer::Jobs::kThere);
  SocketClient client = again.running.connect("beanstalk");
  CHECK(client.ask("peek-buried\r\n", "INTERNAL_ERROR\r\n") == "INTERNAL_ERROR\r\n");
  const std::string expected = "FOUND 71 2000\r\n" + body_of(71) + "\r\n";
  CHECK(client.ask("peek 71\r\n", expected) == expected);
}

}  // namespace millrace::server
