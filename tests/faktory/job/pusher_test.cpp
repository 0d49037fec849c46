#include "faktory/job/pusher.hpp"

#include "faktory/job/work_unit.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

using JobReason = RefusedJob::Reason;

struct Pushing {
  Time now{std::chrono::seconds{1'700'000'000}};
  WorkUnits format;
  Ledger ledger;
  Broker broker{ledger, format, {.random_seed = 1}};
  Pusher pusher{broker, format};

  std::optional<JobReason> refused(std::string_view json) {
    const auto id = pusher.push(json, now, access::Caller::everybody());
    return id ? std::nullopt : std::optional(id.error().reason);
  }
};

std::string job_in(const std::string& queue) {
  return R"({"jid":"12345678","jobtype":"T","args":[],"queue":")" + queue + "\"}";
}

}  // namespace

TEST_CASE("pusher: a pushed job is in its queue, in its stored form") {
  Pushing pushing;
  const auto id = pushing.pusher.push(job_in("mail"), pushing.now, access::Caller::everybody());
  REQUIRE(id);
  const View& view = pushing.broker.view();
  const Job* job = view.jobs().find(*id);
  REQUIRE(job != nullptr);
  CHECK(job->kind == JobKind::kWorkUnit);
  CHECK(view.queues().at(job->queue).name == "mail");
  CHECK(pushing.format.identify(*job).jid == "12345678");
}

TEST_CASE("pusher: what is refused leaves no job, and the next job is not affected") {
  Pushing pushing;
  CHECK(pushing.refused("{") == JobReason::kInvalidJson);
  CHECK(pushing.refused(R"({"jid":"12345678","jobtype":"T"})") == JobReason::kNoArgs);
  CHECK(pushing.broker.view().orders().count(JobState::kReady) == 0);
  CHECK_FALSE(pushing.refused(job_in("mail")));
}

TEST_CASE("pusher: a lock without a time is no lock, and is counted") {
  Pushing pushing;
  int number = 0;
  const auto push = [&](const std::string& custom) {
    return !pushing.refused(R"({"jid":"12345678","jobtype":"T","args":[)" +
                            std::to_string(++number) + R"(],"custom":)" + custom + "}");
  };
  CHECK(push(R"({"unique_until":"nonsense"})"));
  CHECK(push(R"({"unique_until":"start","unique_for":null})"));
  CHECK(push(R"({"unique_until":"start","unique_for":60})"));
  CHECK(push(R"({"unique_for":null,"unique_conflict":"jid"})"));
  CHECK(pushing.broker.view().tally().locks_without_time == 2);
  CHECK(pushing.broker.view().tally().locks_taken == 1);
}

TEST_CASE("pusher: whatever numbers a job has, what was recorded can be read back") {
  for (const char* number : {"0", "-1", "1", "1e-320", "3.5e38", "\"1e39\"", "1e308", "-1e308",
                             "9007199254740993", "99999999999999999999999999999999999999999"}) {
    CAPTURE(number);
    const std::string text(number);
    int accepted = 0;
    for (const char* name : {"unique_for", "expires_in", "track"}) {
      Pushing pushing;
      const bool is_refused =
          pushing
              .refused(R"({"jid":"12345678","jobtype":"T","args":[],"custom":{")" +
                       std::string(name) + "\":" + text + "}}")
              .has_value();
      accepted += is_refused ? 0 : 1;
      Ledger again;
      CHECK(again.replay(pushing.ledger.take_batch(), 0));
      CHECK((again.store().jobs().find(1) == nullptr) ==
            (pushing.ledger.store().jobs().find(1) == nullptr));
    }
    CHECK(accepted >= 2);
  }
}

TEST_CASE("pusher: the name of a queue at its limit and one past it") {
  Pushing pushing;
  CHECK_FALSE(pushing.refused(job_in(std::string(kQueueNameBytesMax, 'q'))));
  CHECK(pushing.refused(job_in(std::string(kQueueNameBytesMax + 1, 'q'))) ==
        JobReason::kQueueNameTooLong);
}

TEST_CASE("pusher: without room for jobs the reason says so") {
  Pushing pushing;
  pushing.broker.set_admission(Admission::kNoJobs);
  CHECK(pushing.refused(job_in("mail")) == JobReason::kNoRoom);
}

TEST_CASE("pusher: a job put in two steps is the one that a single step puts") {
  Pushing pushing;
  const auto members = pushing.pusher.reader().read(job_in("mail"));
  REQUIRE(members);
  auto job = MadeJob::make(*members, pushing.pusher.terms(pushing.now));
  REQUIRE(job);
  const auto first = pushing.pusher.put(job->job(), pushing.now, access::Caller::everybody());
  const auto second = pushing.pusher.push(job_in("mail"), pushing.now, access::Caller::everybody());
  REQUIRE(first);
  REQUIRE(second);
  const View& view = pushing.broker.view();
  CHECK(view.jobs().find(*first)->body_view() == view.jobs().find(*second)->body_view());
}

}  // namespace millrace::faktory
