#include "faktory/job/work_unit.hpp"

#include <cstring>
#include <memory>
#include <string>

#include "faktory/job/pushed_job.hpp"
#include "faktory/moment.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

std::string encoded(std::string_view json) {
  JobReader reader;
  const Outcome<JobMembers> members = reader.read(json);
  REQUIRE(members);
  std::string body;
  REQUIRE(make_pushed_job(*members, kNow, {}, no_secret, body));
  return body;
}

Job make_job(JobKind kind, std::string_view body) {
  Job job;
  job.id = 7;
  job.kind = kind;
  job.created_at = kNow;
  job.enqueued_at = kNow + 1s;
  job.ttr_s = 90;
  job.body = std::make_unique<char[]>(body.size());
  std::memcpy(job.body.get(), body.data(), body.size());
  job.body_bytes = static_cast<std::uint32_t>(body.size());
  return job;
}

std::string rendered(const Job& job, std::string_view queue = "q") {
  std::string out;
  WorkUnits().render(job, queue, {}, out);
  return out;
}

/// What FETCH returns of what was pushed.
std::string round_trip(std::string_view json) {
  return rendered(make_job(JobKind::kWorkUnit, encoded(json)), "default");
}

/// What FETCH returns of what was put.
std::string seen(std::string_view body) {
  return rendered(make_job(JobKind::kBytes, body));
}

}  // namespace

TEST_CASE("work unit: bodies of earlier versions hold all, and are shown as ever") {
  const std::string earlier =
      "\x12\x0A\x32"
      R"({"retry":25,"jid":"12345678","jobtype":"T",)"
      R"("created_at":"2023-11-14T22:13:20Z","args":[1]})";
  const std::string present = encoded(R"({"jid":"12345678","jobtype":"T","args":[1]})");
  const WorkUnits units;
  Job before = make_job(JobKind::kWorkUnit, earlier);
  Job after = make_job(JobKind::kWorkUnit, present);
  for (const Time enqueued_at : {kNow, kNow + 1ns, Time{}}) {
    before.enqueued_at = after.enqueued_at = enqueued_at;
    CHECK(rendered(before) == rendered(after));
  }
  for (const Job* const job : {&before, &after}) {
    CHECK(units.identify(*job).retry == 25);
    CHECK(units.identify(*job).jid == "12345678");
    CHECK(units.summarize(*job).type == "T");
    CHECK(units.summarize(*job).args == "[1]");
  }
  // What they hold counts, not what the job says.
  before.created_at += 1h;
  CHECK(rendered(before).find(R"("created_at":"2023-11-14T22:13:20Z")") != std::string::npos);
}

TEST_CASE("work unit: the time that is filled in has all digits of the job's") {
  Job job = make_job(JobKind::kWorkUnit, encoded(R"({"jid":"12345678","jobtype":"T","args":[]})"));
  job.created_at = kNow + 123'456'780ns;
  CHECK(rendered(job) ==
        R"({"retry":25,"jid":"12345678","queue":"q","jobtype":"T",)"
        R"("created_at":"2023-11-14T22:13:20.12345678Z","enqueued_at":"2023-11-14T22:13:21Z",)"
        R"("args":[]})");
  job.enqueued_at = job.created_at;
  CHECK(rendered(job) == R"({"retry":25,"jid":"12345678","queue":"q","jobtype":"T",)"
                         R"("created_at":"2023-11-14T22:13:20.12345678Z",)"
                         R"("enqueued_at":"2023-11-14T22:13:20.12345678Z","args":[]})");
}

TEST_CASE("work unit: a jobtype that looks like what follows it") {
  const std::string raw_type = R"("a,\"created_at\":\"x\",")";
  for (const char* const more : {"", R"(,"created_at":"c,\"created_at\":")"}) {
    const Job job = make_job(
        JobKind::kWorkUnit,
        encoded(R"({"jid":"12345678","args":[],"jobtype":)" + raw_type + std::string(more) + "}"));
    CHECK(WorkUnits().summarize(job).type == R"(a,"created_at":"x",)");
    const std::string created_at =
        *more == '\0' ? R"(,"created_at":"2023-11-14T22:13:20Z")" : std::string(more);
    CHECK(rendered(job).find(raw_type + created_at + R"(,"enqueued_at":)") != std::string::npos);
  }
}

TEST_CASE("work unit: everything, in the order of the reference") {
  CHECK(
      round_trip(
          R"({"backtrace":3,"args":[1,"<a>",12345678901234567890,1.0,{"z":1,"a":2}],)"
          R"("at":"2020-01-01T00:00:00Z","enqueued_at":"x","created_at":"garbage","jobtype":"T",)"
          R"("queue":"default","jid":"aaaaaaaa","custom":{ "b" : 1 , "a" : null },"retry":4,)"
          R"("reserve_for":90})") ==
      R"({"retry":4,"custom":{"b":1,"a":null},"jid":"aaaaaaaa","queue":"default","jobtype":"T",)"
      R"("created_at":"garbage","enqueued_at":"2023-11-14T22:13:21Z","at":"2020-01-01T00:00:00Z",)"
      R"("args":[1,"<a>",12345678901234567890,1.0,{"z":1,"a":2}],"reserve_for":90,"backtrace":3})");
}

TEST_CASE("work unit: defaults") {
  CHECK(round_trip(R"({"jid":"12345678","jobtype":"T","args":[]})") ==
        R"({"retry":25,"jid":"12345678","queue":"default","jobtype":"T",)"
        R"("created_at":"2023-11-14T22:13:20Z","enqueued_at":"2023-11-14T22:13:21Z","args":[]})");
}

TEST_CASE("work unit: what is empty is left out") {
  CHECK(round_trip(R"({"jid":"12345678","jobtype":"T","args":[],"custom":{ },"at":"",)"
                   R"("reserve_for":0,"backtrace":0,"created_at":"c","queue":""})") ==
        R"({"retry":25,"jid":"12345678","queue":"default","jobtype":"T","created_at":"c",)"
        R"("enqueued_at":"2023-11-14T22:13:21Z","args":[]})");
}

TEST_CASE("work unit: numbers and strings are delivered as they were sent") {
  const std::string args =
      R"([1.50,1e2,-0,0.1E-7,123456789012345678901234567890,"\u003c\/ \"x\" "])";
  CHECK(round_trip(R"({"jid":"12345678","jobtype":"T","args":)" + args + "}").find(args) !=
        std::string::npos);
}

TEST_CASE("work unit: unknown members are shown to people, and not to workers") {
  const Job job = make_job(
      JobKind::kWorkUnit,
      encoded(R"({"priority" : 9,"jid":"12345678","jobtype":"T","args":[],"x y":[ {} ]})"));
  CHECK(rendered(job).ends_with(R"("args":[],"priority":9})"));
  std::string whole;
  WorkUnits().render_whole(job, "q", {}, whole);
  CHECK(whole.ends_with(R"("args":[],"priority":9,"x y":[{}]})"));
}

TEST_CASE("work unit: the default priority is not shown to workers") {
  const Job job = make_job(JobKind::kWorkUnit,
                           encoded(R"({"jid":"12345678","jobtype":"T","args":[],"priority":5})"));
  CHECK(rendered(job).ends_with(R"("args":[]})"));
  std::string whole;
  WorkUnits().render_whole(job, "q", {}, whole);
  CHECK(whole.ends_with(R"("args":[],"priority":5})"));
}

TEST_CASE("work unit: unknown members of a long job are not shown to workers either") {
  const std::string text(WorkUnitFormat::kLongBodyBytes, 'a');
  const std::string json = R"({"x":")" + text + R"(","jid":"12345678","jobtype":"T","args":[")";
  const Job job = make_job(JobKind::kWorkUnit, encoded(json + text + "\"]}"));
  const TextOwner body(std::shared_ptr<const void>(), job.body.get());
  const auto taken = [](std::optional<LongText> shown) {
    REQUIRE(shown);
    std::string out;
    shown->take(shown->size(), out);
    return out;
  };
  const std::string shown = taken(WorkUnits().render_long(job, "q", {}, body));
  CHECK(shown == rendered(job));
  CHECK(shown.ends_with("a\"]}"));
  CHECK(taken(WorkUnits().render_whole_long(job, "q", {}, body)).ends_with("a\"}"));
}

TEST_CASE("work unit: of a body that was put, unknown members are not shown to workers either") {
  CHECK(seen(R"({"jid":"12345678","jobtype":"T","args":[],"x":1})").find("\"x\"") ==
        std::string::npos);
}

TEST_CASE("work unit: no enqueued_at while it is scheduled") {
  Job job = make_job(JobKind::kWorkUnit,
                     encoded(R"({"jid":"12345678","jobtype":"T","args":[],"created_at":"c"})"));
  job.enqueued_at = Time{};
  CHECK(rendered(job).find("enqueued_at") == std::string::npos);
}

TEST_CASE("work unit: its failure comes after retry") {
  Job job = make_job(JobKind::kWorkUnit,
                     encoded(R"({"jid":"12345678","jobtype":"T","args":[],"custom":{"a":1}})"));
  job.edit_history().failure =
      Failure{.failed_at = kNow, .errtype = "E", .message = "m", .backtrace = {}};
  CHECK(rendered(job).starts_with(
      R"({"retry":25,"failure":{"failed_at":"2023-11-14T22:13:20Z","message":"m","errtype":"E",)"
      R"("retry_count":0,"remaining":0},"custom":{"a":1},"jid":)"));
}

TEST_CASE("work unit: its identity") {
  const WorkUnits units;
  const auto identity = units.identify(
      make_job(JobKind::kWorkUnit,
               encoded(R"({"retry":-7,"jid":"1234\u0041\"\\8","jobtype":"T","args":[]})")));
  CHECK(identity.jid == "1234A\"\\8");
  CHECK(identity.retry == -7);
}

TEST_CASE("work unit: the arguments in a summary end before an escape that is cut") {
  const std::size_t bytes = WorkUnitFormat::kSummaryArgsBytes;
  for (std::size_t back = 1; back < 8; ++back) {
    CAPTURE(back);
    const std::string begin = "[\"" + std::string(bytes - 2 - back, 'x');
    const Job job = make_job(
        JobKind::kWorkUnit,
        encoded(R"({"jid":"12345678","jobtype":"T","args":)" + begin + R"(\u00e9 and more"]})"));
    const auto summary = WorkUnits().summarize(job);
    CHECK(summary.is_cut);
    CHECK(summary.args == (back < 6 ? begin : begin + R"(\u00e9)" + std::string(back - 6, ' ')));
  }
}

TEST_CASE("work unit: a large custom member moves everything") {
  const std::string custom = "{\"a\":\"" + std::string(100'000, 'x') + "\"}";
  const std::string body =
      encoded(R"({"jid":"12345678","jobtype":"T","args":[],"custom":)" + custom + "}");
  CHECK(WorkUnits().identify(make_job(JobKind::kWorkUnit, body)).jid == "12345678");
  CHECK(rendered(make_job(JobKind::kWorkUnit, body)).find(custom) != std::string::npos);
}

TEST_CASE("work unit: a damaged body is shown as bytes") {
  for (const std::string more : {"", R"(,"retry":3,"created_at":"c")"}) {
    const std::string body = encoded(R"({"jid":"12345678","jobtype":"T","args":[])" + more + "}");
    const std::size_t args_at = body.find(R"(,"args")");
    const auto check_bytes = [](std::string_view damaged) {
      const Job job = make_job(JobKind::kWorkUnit, damaged);
      CHECK(WorkUnits().identify(job).jid == "beanstalk-7");
      CHECK(WorkUnits().summarize(job).type == "beanstalk");
      CHECK(rendered(job).find(R"("jobtype":"beanstalk")") != std::string::npos);
    };
    for (std::size_t bytes = 0; bytes < args_at; ++bytes) {
      CAPTURE(bytes);
      check_bytes(body.substr(0, bytes));
    }
    for (const char wrong : {'x', '{', '\0'}) {
      std::string damaged = body;
      damaged[3] = wrong;
      if (damaged != body) check_bytes(damaged);
    }
  }
}

TEST_CASE("put job: text becomes the one argument") {
  CHECK(seen("hello \"x\"\n") ==
        R"({"retry":25,"jid":"beanstalk-7","queue":"q","jobtype":"beanstalk",)"
        R"("created_at":"2023-11-14T22:13:20Z","enqueued_at":"2023-11-14T22:13:21Z",)"
        R"("args":["hello \"x\"\n"],"reserve_for":90})");
}

TEST_CASE("put job: what is not UTF-8 comes in base64 and says so") {
  CHECK(seen("\xFF\x01") ==
        R"({"retry":25,"custom":{"encoding":"base64"},"jid":"beanstalk-7","queue":"q",)"
        R"("jobtype":"beanstalk","created_at":"2023-11-14T22:13:20Z",)"
        R"("enqueued_at":"2023-11-14T22:13:21Z","args":["/wE="],"reserve_for":90})");
}

TEST_CASE("put job: an empty body") {
  CHECK(seen("").ends_with(R"("args":[""],"reserve_for":90})"));
}

TEST_CASE("put job: a work unit is taken as one, and filled in") {
  CHECK(seen(R"( {"jobtype":"T", "args":[ 1 ], "queue":"other"} )") ==
        R"({"retry":25,"jid":"beanstalk-7","queue":"q","jobtype":"T",)"
        R"("created_at":"2023-11-14T22:13:20Z","enqueued_at":"2023-11-14T22:13:21Z","args":[1],)"
        R"("reserve_for":90})");
}

TEST_CASE("put job: a work unit keeps what it brings") {
  CHECK(seen(R"({"jid":"mine","retry":3,"created_at":"c","jobtype":"T","args":[],)"
             R"("reserve_for":600,"custom":{"a":1}})") ==
        R"({"retry":3,"custom":{"a":1},"jid":"mine","queue":"q","jobtype":"T","created_at":"c",)"
        R"("enqueued_at":"2023-11-14T22:13:21Z","args":[],"reserve_for":600})");
}

TEST_CASE("put job: no work unit without a jobtype and args") {
  CHECK(seen(R"({"jobtype":"T"})").find(R"("args":["{\"jobtype\":\"T\"}"])") != std::string::npos);
  CHECK(seen(R"({"args":[]})").find(R"("args":["{\"args\":[]}"])") != std::string::npos);
  CHECK(seen(R"({"jobtype":"","args":[]})").find("beanstalk\",\"created") != std::string::npos);
  CHECK(seen(R"([1])").find(R"("args":["[1]"])") != std::string::npos);
  CHECK(seen(R"({"jobtype":"T","args":[],})").find(R"("jobtype":"beanstalk")") !=
        std::string::npos);
}

TEST_CASE("pushed job: is found by its jid, however that is written") {
  const WorkUnits units;
  const auto hash_of = [&](const std::string& jid) {
    return units.name_hash(encoded(R"({"jid":")" + jid + R"(","jobtype":"T","args":[]})"));
  };
  CHECK(hash_of("12345678") == units.hash_of_name("12345678"));
  CHECK(hash_of(R"(\u00e9t\u00e9-5678)") == units.hash_of_name("été-5678"));
  CHECK(hash_of("12345678") != hash_of("12345679"));
  for (const std::string_view broken : {"", "\x01", "no work unit", "\xff\xff\xff\xff\xff\xff"}) {
    CHECK(units.name_hash(broken) == 0);
  }
  const std::string body = encoded(R"({"jid":"12345678","jobtype":"T","args":[]})");
  for (std::size_t length = 0; length < body.size(); ++length) {
    static_cast<void>(units.name_hash(std::string_view(body).substr(0, length)));
  }
}

TEST_CASE("put job: has the name that its worker knows, whatever its body is") {
  const WorkUnits units;
  for (const std::string_view body :
       {R"({"jid":"own-name","jobtype":"T","args":[]})", R"({"jobtype":"T","args":[]})",
        R"({"jid":"own-name"})", "plain", ""}) {
    const std::string jid = units.identify(make_job(JobKind::kBytes, body)).jid;
    CHECK_MESSAGE(units.name_hash_of_put(7, body) == units.hash_of_name(jid), body);
  }
}

TEST_CASE("job: its name when it is gone is its jid and its shown type") {
  const WorkUnits units;
  const auto name_of = [&](JobKind kind, const std::string& body) {
    const Job job = make_job(kind, body);
    const WorkUnitFormat::Name name = units.read_name(units.name_part(job));
    return name.jid + " " + name.jobtype;
  };
  const auto pushed = [&](const std::string& json) {
    return name_of(JobKind::kWorkUnit, encoded(json));
  };
  CHECK(pushed(R"({"jid":"12345678","jobtype":"T","args":[]})") == "12345678 T");
  CHECK(pushed(R"({"jid":"1234\"567","jobtype":"a\u00e9","args":[],"created_at":"c"})") ==
        "1234\"567 aé");
  CHECK(pushed(R"({"retry":3,"custom":{"a":1},"jid":"12345678","jobtype":"T","args":[]})") ==
        "12345678 T");
  CHECK(
      pushed(
          R"({"jid":"1234\"567","jobtype":"ActiveJob::QueueAdapters::FaktoryAdapter::JobWrapper",)"
          R"("custom":{"wrapped":"A\"B"},"args":[]})") == "1234\"567 A\"B");
  CHECK(name_of(JobKind::kBytes, R"({"displayName":"App\\Mail","job":"x@call"})") ==
        "beanstalk-7 App\\Mail");
  CHECK(units.name_part(make_job(JobKind::kBytes, "x")).empty());
  CHECK(units.name_part(make_job(JobKind::kWorkUnit, "broken")).empty());
  CHECK(units.read_name("").jid.empty());
  CHECK(units.read_name("\"cut").jobtype.empty());
}

TEST_CASE("pushed job: what the same push is") {
  const auto is_same = [](const std::string& one, const std::string& two) {
    const WorkUnits units;
    const std::string first = encoded(one);
    const std::string second = encoded(two);
    return units.is_same(make_job(JobKind::kWorkUnit, first), second);
  };
  const std::string one = R"({"jid":"12345678","jobtype":"T","args":[1,{"args":[2]}])";
  CHECK(is_same(one + "}", one + "}"));
  CHECK(is_same(one + R"(,"created_at":"a"})", one + R"(,"created_at":"b"})"));
  CHECK(is_same(one + R"(,"created_at":"a"})", one + "}"));
  CHECK(is_same(one + R"(,"retry":3,"custom":{"a":1}})", one + R"(,"custom":{"args":[3]}})"));
  CHECK(is_same(one + R"(,"reserve_for":600})", one + "}"));
  const std::string at = R"(,"at":"2100-01-01T00:00:00Z")";
  CHECK(is_same(one + at + R"(,"retry":3})", one + at + "}"));
  CHECK_FALSE(is_same(one + at + "}", one + "}"));
  CHECK_FALSE(is_same(one + at + "}", one + R"(,"at":"2100-01-01T00:00:01Z"})"));
  CHECK_FALSE(is_same(one + "}", R"({"jid":"12345678","jobtype":"T","args":[1,{"args":[3]}]})"));
  CHECK_FALSE(is_same(one + "}", R"({"jid":"12345678","jobtype":"T","args":[1]})"));
  CHECK_FALSE(is_same(one + "}", R"({"jid":"12345678","jobtype":"U","args":[1,{"args":[2]}]})"));
  CHECK_FALSE(is_same(one + "}", R"({"jid":"12345679","jobtype":"T","args":[1,{"args":[2]}]})"));
  const WorkUnits units;
  CHECK_FALSE(units.is_same(make_job(JobKind::kWorkUnit, "broken"), encoded(one + "}")));
  CHECK_FALSE(units.is_same(make_job(JobKind::kWorkUnit, encoded(one + "}")), "broken"));
}

TEST_CASE("pushed job: arguments are not looked for in what is long") {
  const std::string args = "[\"" + std::string(WorkUnitFormat::kComparedBytesMax, 'x') + "\"]";
  const std::string one = R"({"jid":"12345678","jobtype":"T","args":)" + args;
  const WorkUnits units;
  const Job job = make_job(JobKind::kWorkUnit, encoded(one + R"(,"created_at":"a"})"));
  CHECK(units.is_same(job, encoded(one + R"(,"created_at":"b"})")));
  CHECK_FALSE(units.is_same(job, encoded(one + R"(,"reserve_for":600})")));
}

TEST_CASE("put job: its identity") {
  const WorkUnits units;
  CHECK(units.identify(make_job(JobKind::kBytes, "x")).jid == "beanstalk-7");
  CHECK(units.identify(make_job(JobKind::kBytes, "x")).retry == 25);
  const auto brought = units.identify(
      make_job(JobKind::kBytes, R"({"jid":"mine","jobtype":"T","args":[],"retry":0})"));
  CHECK(brought.jid == "mine");
  CHECK(brought.retry == 0);
}

TEST_CASE("put job: a jid beyond the limit is not used") {
  const std::string jid(kJidBytesMax + 1, 'j');
  const Job job = make_job(JobKind::kBytes, R"({"jid":")" + jid + R"(","jobtype":"T","args":[]})");
  CHECK(WorkUnits().identify(job).jid == "beanstalk-7");
  CHECK(rendered(job).find(R"("jid":"beanstalk-7")") != std::string::npos);
}

TEST_CASE("work unit: the retry delays of a job are in its custom, also of one that was put") {
  const auto delays = [](std::string_view custom) {
    const std::string json =
        R"({"jid":"12345678","jobtype":"T","args":[{"custom":{"retry_delays":[9]}}],"custom":)" +
        std::string(custom) + "}";
    return WorkUnits::retry_delays(make_job(JobKind::kWorkUnit, encoded(json)));
  };
  using Delays = std::vector<std::uint32_t>;
  CHECK(delays(R"({"a":[1],"retry_delays":[10, "1m30s","2h"],"b":{}})") == Delays{10, 90, 7200});
  CHECK(delays(R"({"retry_delays":null})").empty());
  CHECK(delays("{}").empty());
  CHECK(WorkUnits::retry_delays(make_job(JobKind::kBytes, R"({"custom":{"retry_delays":[9]}})"))
            .empty());
  const auto of_put = [](std::string_view value) {
    const std::string json = R"({"jobtype":"T","args":[],"custom":{"retry_delays":)";
    return WorkUnits::retry_delays(make_job(JobKind::kBytes, json + std::string(value) + "}}"));
  };
  CHECK(of_put(R"([7,"2m"])") == Delays{7, 120});
  CHECK(of_put(R"(["bad"])").empty());
}

}  // namespace millrace::faktory
