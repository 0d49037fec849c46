#include "faktory/job/long_job.hpp"

#include <random>
#include <string>

#include "faktory/moment.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

/// What becomes of a pushed job: its body and its other fields, or why it is refused.
struct Made {
  std::string body;
  std::string queue;
  std::string refused;
  NewJob job;
};

std::string text_of(const RefusedJob& refused) {
  return std::to_string(static_cast<int>(refused.reason));
}

Made make_at_once(const std::string& json) {
  Made made;
  JobReader reader;
  const Outcome<JobMembers> members = reader.read(json);
  if (!members) return {.refused = text_of({RefusedJob::Reason::kInvalidJson, {}})};
  const Result<NewJob, RefusedJob> job =
      make_pushed_job(*members, kNow, WallClock{}, no_secret, made.body);
  if (!job) return {.refused = text_of(job.error())};
  made.queue = job->queue;
  made.job = *job;
  return made;
}

Made make_in_steps(const std::string& json, std::size_t piece) {
  LongJob job(Minifier::Root::kJob);
  const Made invalid{.refused = text_of({RefusedJob::Reason::kInvalidJson, {}})};
  for (std::size_t at = 0; at < json.size(); at += piece) {
    if (!job.add(std::string_view(json).substr(at, piece))) return invalid;
  }
  JobReader reader;
  const Outcome<JobMembers> members = job.read(reader);
  if (!members) return invalid;
  if (const auto made = job.make(*members, kNow, WallClock{}, no_secret); !made)
    return {.refused = text_of(made.error())};
  while (!job.copy_some()) {
  }
  return {
      .body = std::string(job.job().body), .queue = std::string(job.job().queue), .job = job.job()};
}

void check_same(const std::string& json, std::size_t piece) {
  CAPTURE(json.substr(0, 500));
  const Made expected = make_at_once(json);
  const Made made = make_in_steps(json, piece);
  CHECK(made.refused == expected.refused);
  CHECK(made.body == expected.body);
  CHECK(made.queue == expected.queue);
  CHECK(made.job.pri == expected.job.pri);
  CHECK(made.job.ttr_s == expected.job.ttr_s);
  CHECK(made.job.due == expected.job.due);
  CHECK(made.job.failure == expected.job.failure);
  CHECK(made.job.created_at == expected.job.created_at);
}

std::string long_text(char c) {
  return '"' + std::string(8'000, c) + "\\u0041\\ud800\"";
}

/// So many letters, in the longest way to write them.
std::string escaped(std::size_t letters) {
  std::string text;
  for (std::size_t i = 0; i < letters; ++i) text += "\\u0041";
  return text;
}

}  // namespace

TEST_CASE("long job: is what a short one would be") {
  const std::string text = long_text('x');
  const std::string list = "[ " + text + " , [ ] , { \"a\" : " + text + " } ]";
  const std::string map = "{ \"a\" : " + list + " }";
  const std::string digits = std::string(8'000, '7');
  const std::string begin = R"({"jid":"12345678","jobtype":"T","args":)";
  for (const std::string& json : {
           begin + list + "}",
           begin + "[ ] , \"custom\" : " + map + ", \"retry\":3 }",
           begin + list + R"(,"custom":{ },"queue":"q","priority":9,"reserve_for":77})",
           begin + "[1],\"custom\":null,\"x\":" + text + ",\"y\":" + digits + ",\"z\":" + map + "}",
           begin + "[],\"" + std::string(3'000, 'n') + "\":1,\"created_at\":" + text + "}",
           begin + "[]," + text + ":" + text + "," + text + ":[]}",
           "{\"jobtype\":" + text + R"(,"jid":"12345678","args":[],"at":"2026-11-21T00:00:00Z"})",
           "{\"jid\":" + text + R"(,"jobtype":"T","args":[]})",
           "{\"jid\":\"" + escaped(400) + "\",\"jobtype\":\"T\",\"args\":" + list + "}",
           "{\"jid\":\"" + escaped(1'025) + "\",\"jobtype\":\"T\",\"args\":" + list + "}",
           begin + list + ",\"queue\":\"" + escaped(1'024) + "\"}",
           begin + "[],\"queue\":" + text + "}",
           begin + "[],\"at\":" + text + "}",
           begin + "[],\"retry\":" + digits + "}",
           begin + "[],\"priority\":" + digits + "}",
           begin + "[],\"priority\":" + text + "}",
           begin + "[],\"jid\":" + map + "}",
           begin + map + "}",
           begin + "[],\"custom\":" + list + "}",
           begin + "[],\"reserve_for\":" + list + "}",
           begin + list + ",\"args\":[1]}",
           begin + "[1],\"ARGS\":" + list + "}",
           begin + list + ",\"args\":null}",
           begin + R"([],"failure":{"message":)" + text + R"(,"retry_count":2}})",
           begin + R"([],"failure":)" + list + "}",
           begin + R"([],"failure":)" + text + "}",
           begin + list + "} x",
           std::string("null"),
           std::string("{}"),
           "{\"a\":" + text + "}",
       }) {
    for (const std::size_t piece : {1, 17, 4'096, 1'000'000}) check_same(json, piece);
  }
}

TEST_CASE("long job: is what a short one would be, for random members") {
  std::mt19937 random(4711);
  const auto one_of = [&](const std::vector<std::string>& all) {
    return all[random() % all.size()];
  };
  const std::string text = long_text('y');
  const std::vector<std::string> names = {
      "jid",   "jobtype",  "queue",       "at",        "created_at",
      "args",  "custom",   "failure",     "retry",     "ARGS",
      "other", "priority", "reserve_for", "J\\u0069d", std::string(200, 'n')};
  const std::vector<std::string> values = {
      "\"12345678\"",         "\"T\"", "[]", "{}", "null", "17", text, "[" + text + "]",
      "{\"a\":" + text + "}", "[1, 2]"};
  for (int i = 0; i < 3'000; ++i) {
    std::string json = R"({"jid":"12345678","jobtype":"T","args":[])";
    for (std::size_t count = random() % 6; count > 0; --count) {
      json += ",\"" + one_of(names) + "\" : " + one_of(values);
    }
    check_same(json + "}", 1 + random() % 9'000);
  }
}

TEST_CASE("long job: a failure of any length is not read") {
  const std::string begin = R"({"jid":"12345678","jobtype":"T","args":[],"failure":{"message":")";
  const std::string rest = kFailureBytesMax > 100 ? "\"}}" : "";
  const std::size_t around = std::string(R"({"message":""})").size();
  const std::string most(kFailureBytesMax - around, 'x');
  CHECK(make_in_steps(begin + most + rest, 4'096).refused.empty());
  CHECK_FALSE(make_in_steps(begin + most + "x" + rest, 4'096).refused.empty());
}

TEST_CASE("long job: is copied in steps") {
  LongJob job(Minifier::Root::kJob);
  CHECK(job.add(R"({"jid":"12345678","jobtype":"T","args":[")"));
  for (int i = 0; i < 64; ++i) CHECK(job.add(std::string(kLongStepBytes / 4, 'x')));
  CHECK(job.add(R"("]})"));
  JobReader reader;
  CHECK(job.make(*job.read(reader), kNow, WallClock{}, no_secret));
  int steps = 1;
  while (!job.copy_some()) ++steps;
  // The body, and the room for its record.
  CHECK(steps > 2 * 16);
  CHECK(job.job().body.size() > 16 * kLongStepBytes);
}

}  // namespace millrace::faktory
