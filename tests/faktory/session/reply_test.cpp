#include "faktory/session/reply.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

template <typename Append>
std::string said(Append append) {
  std::string out;
  append(out);
  return out;
}

}  // namespace

TEST_CASE("reply: the greeting without a password") {
  CHECK(said([](std::string& out) { reply::hi(out, std::nullopt); }) == "+HI {\"v\":2}\r\n");
}

TEST_CASE("reply: the greeting with a challenge") {
  const Challenge challenge{.iterations = 6575, .salt = "50427e771e3b4f99"};
  CHECK(said([&](std::string& out) { reply::hi(out, challenge); }) ==
        "+HI {\"v\":2,\"i\":6575,\"s\":\"50427e771e3b4f99\"}\r\n");
}

TEST_CASE("reply: simple, bulk and none") {
  CHECK(said([](std::string& out) { reply::ok(out); }) == "+OK\r\n");
  CHECK(said([](std::string& out) { reply::bulk(out, "{}"); }) == "$2\r\n{}\r\n");
  CHECK(said([](std::string& out) { reply::nil(out); }) == "$-1\r\n");
}

TEST_CASE("reply: worker states") {
  const auto state = [](Worker::State s) {
    return said([&](std::string& out) { reply::worker_state(out, s); });
  };
  CHECK(state(Worker::State::kRunning) == "+OK\r\n");
  CHECK(state(Worker::State::kQuiet) == "$17\r\n{\"state\":\"quiet\"}\r\n");
  CHECK(state(Worker::State::kTerminate) == "$21\r\n{\"state\":\"terminate\"}\r\n");
}

TEST_CASE("reply: an error is one line whatever it quotes") {
  CHECK(said([](std::string& out) { reply::error(out, "unknown command a\rb\nc"); }) ==
        "-ERR unknown command a?b?c\r\n");
}

TEST_CASE("reply: the words for lines that are no commands") {
  using Reason = Refused::Reason;
  CHECK(reply::refusal(Refused{Reason::kUnknownVerb, "PING"}) == "unknown command PING");
  CHECK(reply::refusal(Refused{Reason::kUnknownVerb, ""}) == "unknown command ");
  CHECK(reply::refusal(Refused{Reason::kNoArgument, ""}) == "internal error");
  CHECK(reply::refusal(Refused{Reason::kInvalidAck, "123"}) == "invalid ACK 123");
  CHECK(reply::refusal(Refused{Reason::kInvalidFail, "[]"}) == "invalid FAIL []");
  CHECK(reply::refusal(Refused{Reason::kMissingJid, ""}) == "missing JID");
  CHECK(reply::refusal(Refused{Reason::kInvalidBeat, "x"}) == "invalid BEAT x");
  CHECK(reply::refusal(Refused{Reason::kUnknownSubcommand, "frob"}) ==
        "no such QUEUE subcommand: FROB");
  CHECK(reply::refusal(Refused{Reason::kTooManyQueues, ""}) == "more than 1024 queue names");
}

TEST_CASE("reply: the words for jobs that are not taken") {
  using Reason = RefusedJob::Reason;
  CHECK(reply::refusal(RefusedJob{Reason::kInvalidJson, "x"}) == "invalid JSON: x");
  CHECK(reply::refusal(RefusedJob{Reason::kJidTooShort, ""}) ==
        "jobs must have a reasonable jid parameter");
  CHECK(reply::refusal(RefusedJob{Reason::kJidTooLong, ""}) ==
        "jids cannot be longer than 1024 bytes");
  CHECK(reply::refusal(RefusedJob{Reason::kNoJobtype, ""}) == "jobs must have a jobtype parameter");
  CHECK(reply::refusal(RefusedJob{Reason::kNoArgs, ""}) == "jobs must have an args parameter");
  CHECK(reply::refusal(RefusedJob{Reason::kReservedTooLong, ""}) ==
        "jobs cannot be reserved for more than one day");
  CHECK(reply::refusal(RefusedJob{Reason::kInvalidAt, "soon"}) ==
        "invalid timestamp for 'at': \"soon\": not an RFC 3339 time");
  CHECK(reply::refusal(RefusedJob{Reason::kInvalidQueueName, "a b"}) ==
        "cannot get \"a b\" queue: queue names must match \\A[a-zA-Z0-9._-]+\\z");
  CHECK(reply::refusal(RefusedJob{Reason::kQueueNameTooLong, ""}) ==
        "queue names cannot be longer than 1024 bytes");
}

TEST_CASE("reply: the words for jobs and workers that are not there") {
  CHECK(reply::job_not_found("abc") == "Job not found abc");
  CHECK(reply::unknown_worker("w") == "unknown worker w");
  CHECK(reply::line_too_long(10) == "line is longer than 10 bytes");
}

}  // namespace millrace::faktory
