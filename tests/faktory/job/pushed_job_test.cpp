#include "faktory/job/pushed_job.hpp"

#include <string>

#include "faktory/moment.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

using JobReason = RefusedJob::Reason;

/// A job that is fine, with more members put before the closing brace.
std::string job_with(std::string_view more) {
  return R"({"jid":"12345678","jobtype":"T","args":[])" + std::string(more) + "}";
}

/// What is made of a pushed job; keeps what the result points into.
class Pushed {
 public:
  explicit Pushed(std::string_view json)
      : members_(reader_.read(json)),
        result_(make_pushed_job(members_.value(), kNow, {}, no_secret, body_)) {}

  const NewJob& job() const { return result_.value(); }
  JobReason refused() const { return result_.error().reason; }
  std::string_view refused_member() const { return result_.error().member().name; }

 private:
  JobReader reader_;
  Outcome<JobMembers> members_;
  std::string body_;
  Result<NewJob, RefusedJob> result_;
};

std::string job_with_args(const std::string& args, const std::string& more = "") {
  return R"({"jid":"12345678","jobtype":"T","queue":"q","args":[)" + args + "]" + more + "}";
}

Result<MadeJob, RefusedJob> make_with(const std::string& json) {
  JobReader reader;
  const Outcome<JobMembers> members = reader.read(json);
  REQUIRE(members);
  return MadeJob::make(*members, {.now = kNow});
}

}  // namespace

TEST_CASE("push: the plain job") {
  const Pushed pushed(job_with(""));
  CHECK(pushed.job().kind == JobKind::kWorkUnit);
  CHECK(pushed.job().queue == "default");
  CHECK(pushed.job().pri == 1024);
  CHECK(pushed.job().ttr_s == 1800);
  CHECK(pushed.job().due <= kNow);
  CHECK(pushed.job().delay_s == 0);
  CHECK_FALSE(pushed.job().failure);
}

TEST_CASE("push: mistakes in the order of the reference") {
  CHECK(Pushed("{}").refused() == JobReason::kJidTooShort);
  CHECK(Pushed(R"({"jid":"1234567"})").refused() == JobReason::kJidTooShort);
  CHECK(Pushed(R"({"jid":"12345678"})").refused() == JobReason::kNoJobtype);
  CHECK(Pushed(R"({"jid":"12345678","jobtype":"T","reserve_for":86401})").refused() ==
        JobReason::kNoArgs);
  CHECK(Pushed(job_with(R"(,"reserve_for":86401,"at":"x")")).refused() ==
        JobReason::kReservedTooLong);
  CHECK(Pushed(job_with(R"(,"at":"x","queue":"a b")")).refused() == JobReason::kInvalidAt);
  CHECK(Pushed(job_with(R"(,"queue":"a b")")).refused() == JobReason::kInvalidQueueName);
}

TEST_CASE("push: a refused job names its member") {
  CHECK(Pushed("{}").refused_member() == "jid");
  CHECK(Pushed(R"({"jid":"12345678"})").refused_member() == "jobtype");
  CHECK(Pushed(R"({"jid":"12345678","jobtype":"T"})").refused_member() == "args");
  CHECK(Pushed(job_with(R"(,"reserve_for":86401)")).refused_member() == "reserve_for");
  CHECK(Pushed(job_with(R"(,"at":"x")")).refused_member() == "at");
  CHECK(Pushed(job_with(R"(,"queue":"a b")")).refused_member() == "queue");
  CHECK(Pushed(job_with(R"(,"custom":{"unique_for":0})")).refused_member() == "unique_for");
  CHECK(Pushed(job_with(R"(,"custom":{"expires_in":"x"})")).refused_member() == "expires_in");
  CHECK(Pushed(job_with(R"(,"custom":{"bid":"x"})")).refused_member() == "bid");
  CHECK(Pushed(job_with(R"(,"custom":{"throttle_key":{}})")).refused_member() == "throttle_key");
}

TEST_CASE("push: only a member of custom is said to be in there") {
  const auto member_of = [](JobReason reason) { return RefusedJob{reason, {}}.member(); };
  using Member = RefusedJob::Member;
  CHECK(member_of(JobReason::kInvalidExpiresAt) == Member{"expires_at", true});
  CHECK(member_of(JobReason::kUniqueArgsTooLong) == Member{"args", false});
  CHECK(member_of(JobReason::kNoRoom) == Member{});
}

TEST_CASE("push: a throttle_key is kept with the job as text") {
  const auto key_of = [](const std::string& value) {
    const NewJob job = Pushed(job_with(R"(,"custom":{"throttle_key":)" + value + "}")).job();
    return job.features ? std::string(job.features->key()) : "none";
  };
  CHECK(key_of(R"("acme")") == "acme");
  CHECK(key_of(R"("\u00e9")") == "\u00e9");
  CHECK(key_of("42") == "42");
  CHECK(key_of("-1.5") == "-1.5");
  CHECK(key_of(R"("")") == "none");
  CHECK(key_of("null") == "none");
}

TEST_CASE("push: a throttle_key at its limit and one past it") {
  const auto with_key = [](std::size_t bytes) {
    return job_with(R"(,"custom":{"throttle_key":")" + std::string(bytes, 'k') + "\"}");
  };
  CHECK(Pushed(with_key(kThrottleKeyBytesMax)).job().features->key().size() == 255);
  CHECK(Pushed(with_key(kThrottleKeyBytesMax + 1)).refused() == JobReason::kThrottleKeyTooLong);
}

TEST_CASE("push: a jid is measured in bytes of what it means") {
  CHECK(Pushed(R"({"jid":"\u00e9\u00e9\u00e9\u00e9","jobtype":"T","args":[]})").job().ttr_s > 0);
  CHECK(Pushed(R"({"jid":"\u0041\u0041","jobtype":"T","args":[]})").refused() ==
        JobReason::kJidTooShort);
}

TEST_CASE("push: jid and queue at their limits and one past them") {
  const auto with_jid = [](std::size_t bytes) {
    return R"({"jobtype":"T","args":[],"jid":")" + std::string(bytes, 'j') + "\"}";
  };
  const auto with_queue = [](std::size_t bytes) {
    return job_with(R"(,"queue":")" + std::string(bytes, 'q') + "\"");
  };
  CHECK(Pushed(with_jid(kJidBytesMax)).job().ttr_s > 0);
  CHECK(Pushed(with_jid(kJidBytesMax + 1)).refused() == JobReason::kJidTooLong);
  CHECK(Pushed(with_queue(kQueueNameBytesMax)).job().ttr_s > 0);
  CHECK(Pushed(with_queue(kQueueNameBytesMax + 1)).refused() == JobReason::kQueueNameTooLong);
}

TEST_CASE("push: the queue of a scheduled job is checked as well") {
  CHECK(Pushed(job_with(R"(,"queue":"a b","at":"2030-01-01T00:00:00Z")")).refused() ==
        JobReason::kInvalidQueueName);
}

TEST_CASE("push: priorities") {
  CHECK(Pushed(job_with(R"(,"priority":9)")).job().pri == 0);
  CHECK(Pushed(job_with(R"(,"priority":1)")).job().pri == 2048);
  CHECK(Pushed(job_with(R"(,"priority":12)")).job().pri == 1024);
}

TEST_CASE("push: how long a reservation lasts") {
  CHECK(Pushed(job_with(R"(,"reserve_for":1)")).job().ttr_s == 60);
  CHECK(Pushed(job_with(R"(,"reserve_for":-5)")).job().ttr_s == 60);
  CHECK(Pushed(job_with(R"(,"reserve_for":90)")).job().ttr_s == 90);
  CHECK(Pushed(job_with(R"(,"reserve_for":86400)")).job().ttr_s == 86400);
  CHECK(Pushed(job_with(R"(,"reserve_for":0)")).job().ttr_s == 1800);
}

TEST_CASE("push: at in the future is scheduled, else not") {
  const Pushed future(job_with(R"(,"at":"2023-11-14T22:13:30.5Z")"));
  CHECK(future.job().due == kNow + 10500ms);
  CHECK(future.job().delay_s == 11);
  CHECK(Pushed(job_with(R"(,"at":"2023-11-14T22:13:20Z")")).job().delay_s == 0);
  CHECK(Pushed(job_with(R"(,"at":"")")).job().due <= kNow);
  // A step of the clock must not take it past the end of time.
  CHECK(Pushed(job_with(R"(,"at":"9999-12-31T23:59:59Z")")).job().due == Time{7'258'118'400s});
}

TEST_CASE("push: a failure brought along") {
  const Pushed pushed(
      job_with(R"(,"failure":{"retry_count":2,"remaining":1,"errtype":"E","message":"m"})"));
  REQUIRE(pushed.job().failure);
  CHECK(pushed.job().failure->retry_count == 2);
  CHECK(pushed.job().failure->errtype == "E");
  CHECK(Pushed(job_with(R"(,"failure":{"retry_count":"x"})")).refused() == JobReason::kInvalidJson);
}

TEST_CASE("made job: has all that belongs to it, wherever it is moved") {
  for (const std::size_t bytes : {std::size_t{10}, kMadeBodyBytes, kMadeBodyBytes + 1}) {
    const std::string args = '"' + std::string(bytes, 'x') + '"';
    auto made = make_with(job_with_args(args));
    REQUIRE(made);
    made->prepare();
    MadeJob moved = std::move(*made);
    const NewJob& job = moved.job();
    CHECK(job.queue == "q");
    CHECK(job.body.find(args) != std::string_view::npos);
    CHECK(job.created_at == kNow);
    CHECK(moved.kept_bytes() > bytes);
  }
}

TEST_CASE("made job: the broker takes a long body, and copies a short one") {
  const auto is_taken = [](std::size_t bytes) {
    auto made = make_with(job_with_args('"' + std::string(bytes, 'x') + '"'));
    CHECK(made->job().long_body == nullptr);
    made->prepare();
    return made->job().long_body != nullptr;
  };
  CHECK_FALSE(is_taken(kMadeBodyBytes / 2));
  CHECK(is_taken(kMadeBodyBytes));
}

TEST_CASE("made job: is refused by the rules of PUSH") {
  CHECK(make_with(job_with_args("", R"(,"jid":"short")")).error().reason ==
        RefusedJob::Reason::kJidTooShort);
  CHECK(make_with(job_with_args("", R"(,"failure":{"message":7})")).error().reason ==
        RefusedJob::Reason::kInvalidJson);
}

}  // namespace millrace::faktory
