#include "faktory/session/reply.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

template <typename Append>
std::string reply(Append append) {
  std::string out;
  append(out);
  return out;
}

}  // namespace

TEST_CASE("reply: the greeting without a password") {
  CHECK(reply([](std::string& out) { append_hi(std::nullopt, out); }) == "+HI {\"v\":2}\r\n");
}

TEST_CASE("reply: the greeting with a challenge") {
  const Challenge challenge{.iterations = 6575, .salt = "50427e771e3b4f99"};
  CHECK(reply([&](std::string& out) { append_hi(challenge, out); }) ==
        "+HI {\"v\":2,\"i\":6575,\"s\":\"50427e771e3b4f99\"}\r\n");
}

TEST_CASE("reply: simple, bulk and none") {
  CHECK(reply([](std::string& out) { append_ok(out); }) == "+OK\r\n");
  CHECK(reply([](std::string& out) { append_bulk("{}", out); }) == "$2\r\n{}\r\n");
  CHECK(reply([](std::string& out) { append_nil(out); }) == "$-1\r\n");
}

TEST_CASE("reply: worker states") {
  const auto state = [](Worker::State s) {
    return reply([&](std::string& out) { append_state(s, out); });
  };
  CHECK(state(Worker::State::kRunning) == "+OK\r\n");
  CHECK(state(Worker::State::kQuiet) == "$17\r\n{\"state\":\"quiet\"}\r\n");
  CHECK(state(Worker::State::kTerminate) == "$21\r\n{\"state\":\"terminate\"}\r\n");
}

TEST_CASE("reply: an error is one line whatever it quotes") {
  CHECK(reply([](std::string& out) { append_error("unknown command a\rb\nc", out); }) ==
        "-ERR unknown command a?b?c\r\n");
}

TEST_CASE("reply: the words for lines that are no commands") {
  using Kind = CommandFault::Kind;
  CHECK(fault_text(CommandFault{Kind::kUnknownVerb, "PING"}) == "unknown command PING");
  CHECK(fault_text(CommandFault{Kind::kUnknownVerb, ""}) == "unknown command ");
  CHECK(fault_text(CommandFault{Kind::kNoArgument, ""}) == "internal error");
  CHECK(fault_text(CommandFault{Kind::kInvalidAck, "123"}) == "invalid ACK 123");
  CHECK(fault_text(CommandFault{Kind::kInvalidFail, "[]"}) == "invalid FAIL []");
  CHECK(fault_text(CommandFault{Kind::kMissingJid, ""}) == "missing JID");
  CHECK(fault_text(CommandFault{Kind::kInvalidBeat, "x"}) == "invalid BEAT x");
  CHECK(fault_text(CommandFault{Kind::kUnknownSubcommand, "frob"}) ==
        "no such QUEUE subcommand: FROB");
  CHECK(fault_text(CommandFault{Kind::kTooManyQueues, ""}) == "more than 1024 queue names");
}

TEST_CASE("reply: the words for jobs that are not taken") {
  using Kind = JobFault::Kind;
  CHECK(fault_text(JobFault{Kind::kInvalidJson, "x"}) == "invalid JSON: x");
  CHECK(fault_text(JobFault{Kind::kJidTooShort, ""}) ==
        "jobs must have a reasonable jid parameter");
  CHECK(fault_text(JobFault{Kind::kJidTooLong, ""}) == "jids cannot be longer than 1024 bytes");
  CHECK(fault_text(JobFault{Kind::kNoJobtype, ""}) == "jobs must have a jobtype parameter");
  CHECK(fault_text(JobFault{Kind::kNoArgs, ""}) == "jobs must have an args parameter");
  CHECK(fault_text(JobFault{Kind::kReservedTooLong, ""}) ==
        "jobs cannot be reserved for more than one day");
  CHECK(fault_text(JobFault{Kind::kInvalidAt, "soon"}) ==
        "invalid timestamp for 'at': \"soon\": not an RFC 3339 time");
  CHECK(fault_text(JobFault{Kind::kInvalidQueueName, "a b"}) ==
        "cannot get \"a b\" queue: queue names must match \\A[a-zA-Z0-9._-]+\\z");
  CHECK(fault_text(JobFault{Kind::kQueueNameTooLong, ""}) ==
        "queue names cannot be longer than 1024 bytes");
}

TEST_CASE("reply: the words for jobs and workers that are not there") {
  CHECK(job_not_found("abc") == "Job not found abc");
  CHECK(unknown_worker("w") == "unknown worker w");
  CHECK(line_too_long(10) == "line is longer than 10 bytes");
}

}  // namespace millrace::faktory
