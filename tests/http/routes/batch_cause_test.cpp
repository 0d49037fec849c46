#include "http/routes/batch_cause.hpp"

#include <string>

#include "http/kit/text.hpp"
#include "http/routes/batch_site.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

struct CauseSite : BatchSite {
  Json cause(JobBatchId id) { return read(path_of(id))["cause"]; }
  std::string text(JobBatchId id) { return cause(id)["text"]; }
  /// Long enough that a queue that nobody asks for is not served.
  void wait_long() { now += 2min; }
  /// A committed batch with so many ready members.
  void add_filled(JobBatchId id, int members, JobBatchId parent = 0, std::string_view name = "") {
    add(id, parent, name);
    for (int i = 0; i < members; ++i) push_member(id);
    commit(id);
  }
  /// A member whose only run fails, and that is retried later.
  JobId push_failing_member(JobBatchId id) {
    const JobId member = push_member(id, "", "failing");
    REQUIRE(fetch("failing") == member);
    REQUIRE(broker.workers().fail(worker("w" + std::to_string(member)),
                                  format.identify(*find(member)).jid,
                                  {.errtype = "E", .message = "m", .backtrace = {}}, now));
    return member;
  }
};

}  // namespace

TEST_CASE("batch cause: members in a queue that no worker serves") {
  CauseSite web;
  web.add_filled(1, 3);
  CHECK(web.text(1) == "3 members are ready");
  web.wait_long();
  const Json cause = web.cause(1);
  CHECK(cause["text"] == "Blocked by 3 Member jobs in default, which no worker serves");
  CHECK(cause["is_blocked"] == true);
  CHECK(cause["queue"] == "default");
  CHECK(cause["bid"].is_null());
  CHECK(web.read("/api/v1/batches")["batches"][0]["cause"] == cause);
}

TEST_CASE("batch cause: members in a paused queue, of several types") {
  CauseSite web;
  web.add(1);
  web.push_member(1);
  web.push("Other", "default", R"(,"custom":{"bid":")" + format_bid(1) + "\"}");
  web.commit(1);
  REQUIRE(web.post("/api/v1/queues/default/pause").status == 200);
  CHECK(web.text(1) == "Blocked by 2 jobs in default, which is paused");
}

TEST_CASE("batch cause: of many members some are looked at") {
  CauseSite web;
  web.add_filled(1, static_cast<int>(kCauseStepsOfRow) + 1);
  web.wait_long();
  const Json row = web.read("/api/v1/batches")["batches"][0];
  CHECK(row["cause"]["text"] ==
        "Blocked by at least 20 Member jobs in default, which no worker serves");
  CHECK(web.text(1) == "Blocked by 21 Member jobs in default, which no worker serves");
}

TEST_CASE("batch cause: an open batch waits for its client") {
  CauseSite web;
  web.add(1);
  CHECK(web.text(1) == "Waiting for its client to commit it");
  CHECK(web.cause(1)["is_blocked"] == false);
}

TEST_CASE("batch cause: members that are dead, and those that failed for good") {
  CauseSite web;
  web.add(1);
  web.lose_member(1);
  web.commit(1);
  CHECK(web.text(1) == "1 member failed permanently. Accept it so the success callback can run");
  web.push_dead_member(1);
  web.push_dead_member(1);
  CHECK(web.text(1) == "2 members are dead. Retry them so the success callback can run");
}

TEST_CASE("batch cause: members that run, and those that are due later") {
  CauseSite web;
  web.add(1);
  const JobId failing = web.push_failing_member(1);
  web.push_member(1, R"(,"at":"2099-01-01T00:00:00Z")");
  web.commit(1);
  const Json cause = web.cause(1);
  CHECK(cause["text"] == "Waiting for 1 retrying member");
  CHECK(cause["next_at"] == show_time(web.find(failing)->when, web.broker.view().wall_clock()));
  web.push_member(1);
  web.push_member(1);
  web.fetch();
  CHECK(web.text(1) == "1 member is running, 1 ready");
}

TEST_CASE("batch cause: scheduled members say when the first of them is due") {
  CauseSite web;
  web.add(1);
  web.push_member(1, R"(,"at":"2099-01-02T00:00:00Z")");
  web.push_member(1, R"(,"at":"2099-01-01T00:00:00Z")");
  web.commit(1);
  CHECK(web.text(1) == "Waiting for 2 scheduled members");
  CHECK(web.cause(1)["next_at"] == "2099-01-01T00:00:00.000Z");
}

TEST_CASE("batch cause: a callback that is dead, that is not served, and that was deleted") {
  CauseSite web;
  web.add(1);
  web.commit(1);
  CHECK(web.text(1) == "Its complete callback is ready");
  web.wait_long();
  CHECK(web.text(1) == "Its complete callback is in callbacks, which no worker serves");
  const JobId complete = web.fields(1).complete_job;
  REQUIRE(web.broker.admin().change(complete, Mutation::Action::kKill, web.now));
  CHECK(web.text(1) == concat("Its complete callback is dead. Retry job ", complete));
  CHECK(web.cause(1)["job"] == complete);
  REQUIRE(web.broker.admin().change(complete, Mutation::Action::kRequeue, web.now));
  web.acknowledge(web.fetch("callbacks"));
  REQUIRE(
      web.broker.admin().change(web.fields(1).success_job, Mutation::Action::kDiscard, web.now));
  CHECK(web.text(1) == "Its success callback was deleted and will not be pushed again");
}

TEST_CASE("batch cause: a child that is blocked comes before members that run") {
  CauseSite web;
  web.add(1);
  web.push_member(1, "", "busy");
  web.add_filled(2, 0, 1, "runs");
  web.add(3, 1, "partners");
  web.push_dead_member(3);
  web.commit(3);
  web.commit(1);
  web.fetch("busy");
  const Json cause = web.cause(1);
  CHECK(cause["text"] ==
        "Blocked by child batch partners: 1 member is dead. Retry it so the success callback "
        "can run");
  CHECK(cause["bid"] == format_bid(3));
  CHECK(cause["batch"] == "partners");
}

TEST_CASE("batch cause: it is found levels below, and named by its bid without a description") {
  CauseSite web;
  for (JobBatchId id = 1; id <= 4; ++id) web.add(id, id - 1);
  web.lose_member(4);
  for (JobBatchId id = 1; id <= 4; ++id) web.commit(id);
  CHECK(web.text(1) == "Blocked by batch " + format_bid(4) +
                           ", 3 levels below: 1 member failed permanently. Accept it so the "
                           "success callback can run");
}

TEST_CASE("batch cause: a child that runs is waited for") {
  CauseSite web;
  web.add(1);
  web.add_filled(2, 2, 1, "part");
  web.commit(1);
  CHECK(web.text(1) == "Waiting for child batch part: 2 members are ready");
}

TEST_CASE("batch cause: it is looked for so many levels down") {
  CauseSite web;
  const auto deepest = static_cast<JobBatchId>(kCauseDepthMax) + 2;
  for (JobBatchId id = 1; id <= deepest; ++id) web.add(id, id - 1);
  for (JobBatchId id = 1; id < deepest; ++id) web.commit(id);
  CHECK(web.text(2).ends_with(", 16 levels below: waiting for its client to commit it"));
  CHECK(web.text(1) == "Waiting for batch " + format_bid(deepest - 1) +
                           ", 16 levels below: waiting for 1 child batch");
}

TEST_CASE("batch cause: a batch that has succeeded has none") {
  CauseSite web;
  web.add(1);
  web.commit(1);
  web.acknowledge(web.fetch("callbacks"));
  web.acknowledge(web.fetch("callbacks"));
  CHECK(web.cause(1).is_null());
}

TEST_CASE("batches: a row counts its members by state, those that succeeded and those lost") {
  BatchSite web;
  web.add(1);
  web.acknowledge((web.push_member(1), web.fetch()));
  web.push_dead_member(1);
  web.lose_member(1);
  web.push_member(1);
  const Json row = web.read("/api/v1/batches")["batches"][0];
  CHECK(row["total"] == 4);
  CHECK(row["succeeded"] == 1);
  CHECK(row["pending"] == 2);
  CHECK(row["lost"] == 1);
  CHECK(row["members"] ==
        Json{{"reserved", 0}, {"retrying", 0}, {"dead", 1}, {"scheduled", 0}, {"ready", 1}});
}

}  // namespace millrace::http
