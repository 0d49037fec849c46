#include <optional>
#include <string>
#include <utility>

#include "beanstalk/command.hpp"
#include "beanstalk/session.hpp"
#include "support/doctest.hpp"
#include "support/in_memory_server.hpp"

namespace millrace::beanstalk {
namespace {

using test::InMemoryServer;
using test::Protocol;

const std::string kBody = std::string(4 * kLongPutBytes, 'x') + "\r\nend";

std::string put_line(std::size_t bytes) {
  return "put 7 0 60 " + std::to_string(bytes) + "\r\n";
}

std::string job_reply(const std::string& word, const std::string& body) {
  return word + " 1 " + std::to_string(body.size()) + "\r\n" + body + "\r\n";
}

/// A server that takes jobs of any length.
struct LongJobs {
  LongJobs() {
    InMemoryServer::Options options;
    options.beanstalk.job_bytes_max = 16 * kLongPutBytes;
    server.emplace(std::move(options));
    server->connect("a", Protocol::kBeanstalk);
    server->connect("b", Protocol::kBeanstalk);
  }

  /// Sends the text in pieces, and answers what came for it.
  std::string say(const std::string& text, std::size_t piece) {
    for (std::size_t at = 0; at < text.size(); at += piece) {
      server->send("a", text.substr(at, piece));
    }
    return server->take_output("a");
  }

  std::optional<InMemoryServer> server;
};

}  // namespace

TEST_CASE("put of a long body: arrives in any pieces") {
  const std::string put = put_line(kBody.size());
  for (const std::size_t piece : {9'973UL, put.size(), put.size() + kBody.size(),
                                  put.size() + kBody.size() + 1, 10'000'000UL}) {
    LongJobs jobs;
    CHECK(jobs.say(put + kBody + "\r\npeek 1\r\nuse x\r\n", piece) ==
          "INSERTED 1\r\n" + job_reply("FOUND", kBody) + "USING x\r\n");
    CHECK(jobs.server->ask("b", "stats-job 1\r\n").find("pri: 7\n") != std::string::npos);
    CHECK(jobs.server->ask("b", "stats\r\n").find("cmd-put: 1\n") != std::string::npos);
  }
}

TEST_CASE("put of a long body: the line end is missing") {
  for (const std::size_t piece : {50'000, 10'000'000}) {
    LongJobs jobs;
    CHECK(jobs.say(put_line(kBody.size()) + kBody + "xyuse x\r\n", piece) ==
          "EXPECTED_CRLF\r\nUSING x\r\n");
    CHECK(jobs.server->ask("b", "peek 1\r\n") == "NOT_FOUND\r\n");
  }
}

TEST_CASE("put of a long body: a client that leaves in the middle leaves nothing") {
  for (const bool is_half : {false, true}) {
    LongJobs jobs;
    (void)jobs.say(put_line(kBody.size()) + kBody, 50'000);
    if (is_half) {
      jobs.server->half_close("a");
      CHECK_FALSE(jobs.server->is_open("a"));
    } else {
      jobs.server->close("a");
    }
    CHECK(jobs.server->ask("b", "peek 1\r\n") == "NOT_FOUND\r\n");
  }
}

TEST_CASE("put of a long body: goes to the client that waits") {
  LongJobs jobs;
  jobs.server->send("b", "reserve\r\n");
  CHECK(jobs.say(put_line(kBody.size()) + kBody + "\r\n", 50'000) == "INSERTED 1\r\n");
  CHECK(jobs.server->take_output("b") == job_reply("RESERVED", kBody));
}

TEST_CASE("a long job is sent in slices, and is whole although it is deleted meanwhile") {
  LongJobs jobs;
  CHECK(jobs.say(put_line(kBody.size()) + kBody + "\r\n", 50'000) == "INSERTED 1\r\n");
  jobs.server->hold_output("b", true);
  jobs.server->send("b", "peek 1\r\npeek 1\r\nquit\r\n");
  CHECK(jobs.say("delete 1\r\n", 100) == "DELETED\r\n");
  CHECK(jobs.server->is_open("b"));
  jobs.server->hold_output("b", false);
  // The second one was not looked up before the first had left.
  CHECK(jobs.server->take_output("b") == job_reply("FOUND", kBody) + "NOT_FOUND\r\n");
  CHECK_FALSE(jobs.server->is_open("b"));
}

TEST_CASE("a long job is sent to a client that closes its side") {
  LongJobs jobs;
  CHECK(jobs.say(put_line(kBody.size()) + kBody + "\r\n", 50'000) == "INSERTED 1\r\n");
  jobs.server->hold_output("b", true);
  jobs.server->send("b", "reserve\r\n");
  jobs.server->half_close("b");
  CHECK(jobs.server->is_open("b"));
  jobs.server->hold_output("b", false);
  CHECK(jobs.server->take_output("b") == job_reply("RESERVED", kBody));
  CHECK_FALSE(jobs.server->is_open("b"));
  CHECK(jobs.server->ask("a", "peek-ready\r\n").starts_with("FOUND 1 "));
}

TEST_CASE("a long pushed job is shown as a whole one is") {
  LongJobs jobs;
  InMemoryServer& server = *jobs.server;
  server.connect("f", Protocol::kFaktory);
  CHECK(server.ask("f", "HELLO {\"v\":2,\"wid\":\"w\"}\r\n").ends_with("+OK\r\n"));
  const std::string text(2 * kLongPutBytes, 'x');
  CHECK(server.ask("f", R"(PUSH {"jid":"12345678","jobtype":"T","args":[")" + text +
                            R"("],"x":{"a":")" + text + R"("},"queue":"default"})" + "\n") ==
        "+OK\r\n");
  std::string shown;
  const Job& job = *server.broker().view().jobs().find(1);
  faktory::WorkUnits().render(job, "default", WallClock{}, shown);
  CHECK(server.ask("a", "peek 1\r\n") == job_reply("FOUND", shown));
  const std::string fetched = server.ask("f", "FETCH default\nINFO\n");
  CHECK(fetched.starts_with("$" + std::to_string(shown.size()) + "\r\n" + shown + "\r\n$"));
}

}  // namespace millrace::beanstalk
