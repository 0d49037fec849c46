#include "faktory/session/push_reader.hpp"

#include <string>

#include "support/doctest.hpp"
#include "support/in_memory_server.hpp"

namespace millrace::faktory {
namespace {

const std::string kHello = "HELLO {\"v\":2}\r\n";

std::string push_line(const std::string& jid, const std::string& more = "") {
  return R"(PUSH {"jid":")" + jid + R"(","jobtype":"Work","args":[1])" + more + "}\r\n";
}

struct Reading {
  std::shared_ptr<PushReader::Made> made = std::make_shared<PushReader::Made>();
  PushReader reader{made};
};

test::InMemoryServer::Options ahead() {
  test::InMemoryServer::Options options;
  options.reads_ahead = true;
  return options;
}

}  // namespace

TEST_CASE("push reader: makes the jobs of whole lines, and says where these end") {
  Reading reading;
  const std::string first = push_line("job-number-1");
  const std::string bytes = "FETCH default\r\n" + first + "BEAT {}\r\n" + push_line("job-number-2");
  reading.reader.read(bytes);
  REQUIRE(reading.made->size() == 2);
  CHECK(reading.made->front().line_end == 15 + first.size());
  CHECK(reading.made->back().line_end == bytes.size());
  CHECK(reading.made->front().job.job().queue == "default");
  CHECK_FALSE(reading.made->front().job.job().body.empty());
}

TEST_CASE("push reader: leaves a line that arrives in pieces, and finds the next") {
  const std::string line = push_line("job-number-1");
  for (std::size_t cut = 1; cut < line.size(); ++cut) {
    Reading reading;
    reading.reader.read(line.substr(0, cut));
    CHECK(reading.made->empty());
    reading.reader.read(line.substr(cut) + line);
    REQUIRE(reading.made->size() == 1);
    CHECK(reading.made->front().line_end == 2 * line.size());
  }
}

TEST_CASE("push reader: leaves to the session what depends on the time, and what is refused") {
  Reading reading;
  const std::string of_client = push_line("job-number-1", R"(,"custom":{"locale":"de"})");
  reading.reader.read(of_client);
  CHECK(reading.made->size() == 1);
  reading.made->clear();
  for (const char* more : {R"(,"at":"2100-01-01T00:00:00Z")", R"(,"custom":{"unique_for":60})",
                           R"(,"custom":{"expires_in":60})", R"(,"custom":{"bid":"b-1"})",
                           R"(,"failure":{"retry_count":1})", R"(,"queue":"no such!")",
                           R"(,"reserve_for":99999999)", ","}) {
    INFO(more);
    reading.reader.read(push_line("job-number-1", more));
    CHECK(reading.made->empty());
  }
  reading.reader.read("PUSH\r\nPUSH \r\npush {}\r\n\r\n" + push_line("short"));
  CHECK(reading.made->empty());
}

TEST_CASE("push reader: makes so many jobs of what arrives at once, and the session the others") {
  std::string bytes = kHello;
  std::string replies = "+OK\r\n";
  for (std::size_t i = 0; i < 2 * kPushesAheadMax; ++i) {
    bytes += push_line("job-number-" + std::to_string(i));
    replies += "+OK\r\n";
  }
  Reading reading;
  reading.reader.read(bytes);
  CHECK(reading.made->size() == kPushesAheadMax);
  test::InMemoryServer server(ahead());
  server.connect("client", test::Protocol::kFaktory);
  CHECK(server.ask("client", bytes).ends_with(replies));
  CHECK(server.broker().view().orders().count(JobState::kReady) == 2 * kPushesAheadMax);
}

TEST_CASE("push reader: a job has the time at which it is pushed") {
  test::InMemoryServer server(ahead());
  server.connect("client", test::Protocol::kFaktory);
  CHECK(server.ask("client", kHello).ends_with("+OK\r\n"));
  // The FETCH waits, and so does what was read behind it.
  CHECK(server.ask("client", "FETCH other\r\n" + push_line("job-number-1")).empty());
  server.advance(2s);
  CHECK(server.take_output("client") == "$-1\r\n+OK\r\n");
  const View& view = server.broker().view();
  const Job* const job = view.jobs().first_ready(*view.queues().find("default"));
  REQUIRE(job != nullptr);
  CHECK(job->created_at > Time{std::chrono::seconds{1'700'000'001}});
}

TEST_CASE("push reader: what was read before the password is pushed after it alone") {
  test::InMemoryServer::Options options = ahead();
  options.faktory.password = "secret";
  test::InMemoryServer server(options);
  server.connect("client", test::Protocol::kFaktory);
  CHECK(server.ask("client", push_line("job-number-1")).find("+OK") == std::string::npos);
  CHECK(server.broker().view().orders().count(JobState::kReady) == 0);
}

}  // namespace millrace::faktory
