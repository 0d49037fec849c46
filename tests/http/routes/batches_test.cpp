#include <initializer_list>
#include <string>

#include "http/asking.hpp"
#include "http/routes/batch_site.hpp"
#include "http/routes/batch_view.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

std::string names_in(const Json& page) {
  std::string names;
  for (const Json& each : page["batches"]) names += each["description"].get<std::string>();
  return names;
}

}  // namespace

TEST_CASE("batches: the list is the newest first, page by page") {
  BatchSite web;
  web.add(1, 0, "a");
  web.add(2, 0, "b");
  web.add(3, 0, "c");
  const Json first = web.read("/api/v1/batches?limit=2");
  CHECK(names_in(first) == "cb");
  CHECK(first["total"] == 3);
  const Json second =
      web.read("/api/v1/batches?limit=2&cursor=" + first["next"].get<std::string>());
  CHECK(names_in(second) == "a");
  CHECK(second["next"].is_null());
}

TEST_CASE("batches: without any the list is empty") {
  BatchSite web;
  CHECK(web.read("/api/v1/batches") ==
        Json{{"batches", Json::array()}, {"total", 0}, {"next", nullptr}});
}

TEST_CASE("batches: a list of one state has no others") {
  BatchSite web;
  web.add(1, 0, "open");
  web.add(2, 0, "running");
  web.push_member(2);
  web.commit(2);
  CHECK(names_in(web.read("/api/v1/batches?state=open")) == "open");
  CHECK(names_in(web.read("/api/v1/batches?state=running")) == "running");
  CHECK(names_in(web.read("/api/v1/batches?state=failed")).empty());
  CHECK(web.get("/api/v1/batches?state=odd").status == 400);
}

TEST_CASE("batches: a list of the children of a batch has no others") {
  BatchSite web;
  web.add(1, 0, "parent");
  web.add(2, 1, "child");
  web.add(3, 2, "grandchild");
  web.add(4, 1, "twin");
  CHECK(names_in(web.read("/api/v1/batches?parent=" + format_bid(1))) == "twinchild");
  CHECK(web.get("/api/v1/batches?parent=odd").status == 400);
  CHECK(web.get("/api/v1/batches?cursor=odd").status == 400);
}

TEST_CASE("batches: one that is not there is a 404, whatever is asked of it") {
  BatchSite web;
  CHECK(web.get(BatchSite::path_of(9)).status == 404);
  CHECK(web.get("/api/v1/batches/odd").status == 404);
  for (const char* action : {"/retry", "/discard", "/accept", "/delete"}) {
    CHECK(web.post(BatchSite::path_of(9) + action).status == 404);
  }
}

TEST_CASE("batch: it shows its numbers, its members by state and its callbacks") {
  BatchSite web;
  const std::string path = web.add(1, 0, "import");
  web.push_member(1);
  web.push_member(1, R"(,"at":"2099-01-01T00:00:00Z")");
  web.push_dead_member(1);
  web.push("Other");
  const Json batch = web.read(path);
  CHECK(batch["description"] == "import");
  CHECK(batch["state"] == "open");
  CHECK(batch["total"] == 3);
  CHECK(batch["pending"] == 3);
  CHECK(batch["failed"] == 1);
  CHECK(batch["unexecuted"] == 2);
  CHECK(batch["members"] ==
        Json{{"reserved", 0}, {"retrying", 0}, {"dead", 1}, {"scheduled", 1}, {"ready", 1}});
  CHECK(batch["callbacks"][0] == Json{{"role", "complete"},
                                      {"queue", "callbacks"},
                                      {"state", "waiting"},
                                      {"job", nullptr},
                                      {"job_state", nullptr}});
}

TEST_CASE("batch: a callback that was pushed names its job and the state of that") {
  BatchSite web;
  const std::string path = web.add(1);
  web.commit(1);
  const JobId job = web.fields(1).complete_job;
  const Json callback = web.read(path)["callbacks"][0];
  CHECK(callback["state"] == "enqueued");
  CHECK(callback["job"] == job);
  CHECK(callback["job_state"] == "ready");
}

TEST_CASE("batch: it says what it waits for") {
  BatchSite web;
  const std::string path = web.add(1);
  web.add(2, 1);
  web.push_member(1);
  CHECK(web.blocks(path) == "commit 1, members 1, children 1");
  web.push_dead_member(1);
  web.lose_member(1);
  web.commit(1);
  CHECK(web.blocks(path) == "members 1, children 1, failed_members 1, lost_members 1");
}

TEST_CASE("batch: a dead callback is what it waits for") {
  BatchSite web;
  const std::string path = web.add(1);
  web.commit(1);
  REQUIRE(web.broker.admin().change(web.fields(1).complete_job, Mutation::Action::kKill, web.now));
  const Json blocks = web.read(path)["blocked_by"];
  REQUIRE(blocks.size() == 1);
  CHECK(blocks[0]["what"] == "complete");
  CHECK(blocks[0]["job_state"] == "dead");
}

TEST_CASE("batch: one whose callback is dead has failed until that is retried") {
  BatchSite web;
  const std::string path = web.add(1, 0, "x");
  web.commit(1);
  const JobId complete = web.fields(1).complete_job;
  REQUIRE(web.broker.admin().change(complete, Mutation::Action::kKill, web.now));
  CHECK(web.read(path)["state"] == "failed");
  CHECK(names_in(web.read("/api/v1/batches?state=failed")) == "x");
  CHECK(names_in(web.read("/api/v1/batches?state=running")).empty());
  REQUIRE(web.broker.admin().change(complete, Mutation::Action::kRequeue, web.now));
  CHECK(web.read(path)["state"] == "running");
  web.acknowledge(web.fetch("callbacks"));
  REQUIRE(web.broker.admin().change(web.fields(1).success_job, Mutation::Action::kKill, web.now));
  CHECK(web.read(path)["state"] == "failed");
}

TEST_CASE("batch: one with a dead callback that runs again is not failed") {
  BatchSite web;
  const std::string path = web.add(1);
  web.commit(1);
  REQUIRE(web.broker.admin().change(web.fields(1).complete_job, Mutation::Action::kKill, web.now));
  web.push_member(1);
  CHECK(web.read(path)["state"] == "running");
}

TEST_CASE("batch: a success callback that was deleted is what it waits for") {
  BatchSite web;
  const std::string path = web.add(1);
  web.commit(1);
  web.acknowledge(web.fetch("callbacks"));
  REQUIRE(
      web.broker.admin().change(web.fields(1).success_job, Mutation::Action::kDiscard, web.now));
  CHECK(web.read(path)["state"] == "failed");
  CHECK(web.blocks(path) == "lost_callback 1");
}

TEST_CASE("batch: a child that has failed is told apart from one that runs") {
  BatchSite web;
  const std::string path = web.add(1);
  web.add(2, 1);
  web.add(3, 1);
  web.lose_member(2);
  web.commit(2);
  web.acknowledge(web.fetch("callbacks"));
  web.push_member(3);
  CHECK(web.blocks(path) == "commit 1, children 1, failed_children 1");
}

TEST_CASE("batch: one that has succeeded waits for nothing, and says until when it is kept") {
  BatchSite web;
  const std::string path = web.add(1);
  web.commit(1);
  web.acknowledge(web.fetch("callbacks"));
  web.acknowledge(web.fetch("callbacks"));
  const Json batch = web.read(path);
  CHECK(batch["state"] == "succeeded");
  CHECK(batch["blocked_by"].empty());
  CHECK(batch["forgotten_at"].is_string());
  CHECK(batch["idle_at"].is_null());
}

TEST_CASE("batch: it shows its ancestors, the outermost first, and its children") {
  BatchSite web;
  web.add(1, 0, "a");
  web.add(2, 1, "b");
  const std::string path = web.add(3, 2, "c");
  web.add(4, 3, "d");
  const Json batch = web.read(path);
  CHECK(batch["ancestors"].size() == 2);
  CHECK(batch["ancestors"][0]["description"] == "a");
  CHECK(batch["child_list"][0]["description"] == "d");
  CHECK(batch["children"] == 1);
}

TEST_CASE("batch: it shows its descendants level by level, eight levels deep") {
  BatchSite web;
  const std::string path = web.add(1);
  for (JobBatchId id = 2; id <= 11; ++id) web.add(id, id - 1);
  const Json batch = web.read(path);
  std::size_t levels = 0;
  const Json* last = &batch;
  for (; !(*last)["child_list"].empty(); last = &(*last)["child_list"][0]) ++levels;
  CHECK(levels == kGenerationsShownMax);
  CHECK((*last)["bid"] == format_bid(1 + kGenerationsShownMax));
  CHECK((*last)["children"] == 1);
}

TEST_CASE("batch: it shows 20 children of each batch, and 100 descendants in all") {
  BatchSite web;
  const std::string path = web.add(1);
  JobBatchId id = 2;
  for (; id < 23; ++id) web.add(id, 1);
  for (int i = 0; i < 21; ++i) web.add(id++, 2);
  for (JobBatchId parent = 3; parent < 23; ++parent) {
    for (int i = 0; i < 19; ++i) web.add(id++, parent);
  }
  const Json children = web.read(path)["child_list"];
  CHECK(children.size() == kChildrenShownMax);
  CHECK(children[0]["child_list"].size() == kChildrenShownMax);
  CHECK(children[1]["child_list"].size() == 19);
  CHECK(children[3]["child_list"].size() == 19);
  CHECK(children[4]["child_list"].size() == 3);
  CHECK(children[5]["child_list"].empty());
  CHECK(children[5]["children"] == 19);
}

TEST_CASE("batch: its members are counted and listed at once among very many other jobs") {
  BatchSite web;
  const std::string path = web.add(1);
  for (std::size_t i = 0; i < 20'000; ++i) web.put("x");
  const JobId first = web.push_member(1);
  const JobId second = web.push_member(1);
  CHECK(web.read(path)["members"]["ready"] == 2);
  const Json page = web.read("/api/v1/jobs?state=ready&limit=1&bid=" + format_bid(1));
  REQUIRE(page["jobs"].size() == 1);
  CHECK(page["jobs"][0]["id"] == first);
  CHECK(page["to_look_at"] == 2);
  const Json rest = web.read("/api/v1/jobs?state=ready&bid=" + format_bid(1) +
                             "&cursor=" + page["next"].get<std::string>());
  CHECK(rest["jobs"][0]["id"] == second);
  CHECK(rest["next"].is_null());
}

TEST_CASE("batch: the children that it waits for are named, up to three") {
  BatchSite web;
  const std::string path = web.add(1);
  web.add(2, 1, "done");
  web.commit(2);
  web.acknowledge(web.fetch("callbacks"));
  web.acknowledge(web.fetch("callbacks"));
  web.add(3, 1, "runs");
  web.commit(1);
  Json blocks = web.read(path)["blocked_by"];
  REQUIRE(blocks.size() == 1);
  CHECK(blocks[0]["batches"] == Json{{{"bid", format_bid(3)}, {"description", "runs"}}});
  web.add(4, 1, "fails");
  web.lose_member(4);
  web.commit(4);
  web.acknowledge(web.fetch("callbacks"));
  for (JobBatchId id = 5; id < 9; ++id) web.add(id, 1, "more");
  blocks = web.read(path)["blocked_by"];
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0]["count"] == 5);
  CHECK(blocks[0]["batches"].size() == kBlockingShownMax);
  CHECK(blocks[1]["what"] == "failed_children");
  CHECK(blocks[1]["batches"] == Json{{{"bid", format_bid(4)}, {"description", "fails"}}});
}

TEST_CASE("batch: retry makes the dead members ready, and no other dead job") {
  BatchSite web;
  const std::string path = web.add(1);
  const JobId member = web.push_dead_member(1);
  const JobId other = web.fail("Other", "x", true);
  const Response begun = web.post(path + "/retry", {{"at_most", 1}});
  CHECK(begun.status == 202);
  CHECK(Json::parse(begun.body)["title"] == "retry dead members of batch " + format_bid(1));
  web.settle();
  CHECK(web.find(member)->state == JobState::kReady);
  CHECK(web.find(other)->state == JobState::kDead);
}

TEST_CASE("batch: discard leaves reserved members to their workers, and younger ones alone") {
  BatchSite web;
  const std::string path = web.add(1);
  web.push_member(1);
  const JobId held = web.fetch();
  const JobId ready = web.push_member(1);
  const std::string as_of = as_of_now(web);
  const JobId younger = web.push_member(1);
  CHECK(web.post(path + "/discard", {{"as_of", as_of}}).status == 202);
  web.settle();
  CHECK(web.find(held) != nullptr);
  CHECK(web.find(ready) == nullptr);
  CHECK(web.find(younger) != nullptr);
}

TEST_CASE("batch: accept counts so many lost members as done, and success comes") {
  BatchSite web;
  const std::string path = web.add(1);
  web.lose_member(1);
  web.lose_member(1);
  web.commit(1);
  web.acknowledge(web.fetch("callbacks"));
  const Response some = web.post(path + "/accept", {{"at_most", 1}});
  CHECK(some.is_change);
  CHECK(Json::parse(some.body)["accepted"] == 1);
  CHECK(web.read(path)["state"] == "failed");
  web.post(path + "/accept");
  CHECK(web.read(path)["lost"] == 0);
  CHECK(web.read(path)["callbacks"][1]["state"] == "enqueued");
}

TEST_CASE("batch: delete forgets it, and its jobs stay") {
  BatchSite web;
  const std::string path = web.add(1);
  const JobId member = web.push_member(1);
  CHECK(web.post(path + "/delete").status == 200);
  CHECK(web.get(path).status == 404);
  const Json job = web.read("/api/v1/jobs/" + std::to_string(member));
  CHECK(job["batch"] == Json{{"bid", format_bid(1)}, {"role", "member"}, {"is_there", false}});
}

TEST_CASE("batch: a plain job has none") {
  BatchSite web;
  CHECK(web.read("/api/v1/jobs/" + std::to_string(web.push("Plain")))["batch"].is_null());
}

TEST_CASE("jobs: a list, a count and an operation take the members of a batch only") {
  BatchSite web;
  web.add(1);
  const JobId member = web.push_member(1);
  web.push("Other");
  const std::string bid = format_bid(1);
  const Json list = web.read("/api/v1/jobs?bid=" + bid);
  REQUIRE(list["jobs"].size() == 1);
  CHECK(list["jobs"][0]["id"] == member);
  CHECK(web.read("/api/v1/jobs/count?bid=" + bid)["matched"] == 1);
  CHECK(web.get("/api/v1/jobs?bid=odd").status == 400);
  web.post("/api/v1/operations", {{"action", "delete"}, {"states", {"ready"}}, {"bid", bid}});
  web.settle();
  CHECK(web.find(member) == nullptr);
  CHECK(web.broker.view().orders().count(JobState::kReady) == 1);
}

}  // namespace millrace::http
