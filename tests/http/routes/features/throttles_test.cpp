#include "core/state/throttle/throttles.hpp"

#include <algorithm>
#include <string>

#include "http/kit/text.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

/// What a config file has: limits for the queues of one pattern, which is `mail` here.
void configure(WebFixture& web, const ThrottleLimits& limits) {
  const ThrottleRule rule{.pattern = "mail", .limits = limits};
  web.broker.admin().set_throttle_rules(
      {.list = {rule},
       .find = [rule](std::string_view queue) { return queue == "mail" ? &rule : nullptr; }},
      web.now);
}

constexpr ThrottleLimits kTwo{.concurrency = 2, .timeout_s = 60};

}  // namespace

TEST_CASE("throttles: without limits the lists are empty") {
  WebFixture web;
  CHECK(web.get("/api/v1/throttles").body == R"({"throttles":[],"total":0,"next":null})");
  CHECK(web.get("/api/v1/throttle-rules").body == R"({"rules":[],"total":0,"next":null})");
  CHECK(web.get("/api/v1/throttles/mail").status == 404);
}

TEST_CASE("throttles: a queue has its limits, the rule they are from, and what counts") {
  WebFixture web;
  configure(web, kTwo);
  web.push("Mail", "mail");
  web.push("Mail", "mail");
  web.push("Mail", "mail");
  web.fetch("mail");
  Json shown = web.read("/api/v1/throttles")["throttles"][0];
  CHECK(shown["queue"] == "mail");
  CHECK(shown["limits"]["concurrency"] == 2);
  CHECK(shown["limits"]["worker"] == nullptr);
  CHECK(shown["rule"]["pattern"] == "mail");
  CHECK(shown["is_by_hand"] == false);
  CHECK(shown["taken"] == 1);
  CHECK(shown["free"] == 1);
  CHECK(shown["throttled"] == nullptr);
  web.fetch("mail");
  shown = web.read("/api/v1/throttles/mail");
  CHECK(shown["free"] == 0);
  CHECK(shown["ready"] == 1);
  CHECK(shown["held"] == 2);
  CHECK(shown["throttled"] == "2 of 2");
}

TEST_CASE("throttles: how long jobs hold their slots is shown once a run has ended") {
  WebFixture web;
  configure(web, kTwo);
  const JobId id = web.push("Mail", "mail");
  web.fetch("mail");
  CHECK(web.read("/api/v1/throttles/mail")["held_p50_s"] == nullptr);
  web.now += 20s;
  web.acknowledge(id);
  const Json shown = web.read("/api/v1/throttles/mail");
  CHECK(shown["held_p50_s"] > 10);
  CHECK(shown["held_p95_s"] <= 30);
}

TEST_CASE("throttles: a queue that a rule names is listed before it has a job, and after") {
  WebFixture web;
  ThrottleRules rules{.list = {{.pattern = "mail", .limits = kTwo},
                               {.pattern = "b", .limits = kTwo},
                               {.pattern = "g-*", .limits = kTwo}}};
  rules.find = [list = rules.list](std::string_view name) {
    const auto found = std::ranges::find(list, name, &ThrottleRule::pattern);
    return found == list.end() ? nullptr : &*found;
  };
  web.broker.admin().set_throttle_rules(rules, web.now);
  CHECK(web.post("/api/v1/throttles/c/set", {{"rate_count", 1}, {"rate_s", 1}}).status == 200);
  const auto names = [&](const std::string& cursor, const Json& next) {
    const Json page = web.read("/api/v1/throttles?limit=2&cursor=" + cursor);
    CHECK(page["total"] == 3);
    CHECK(page["next"] == next);
    std::string all;
    for (const Json& row : page["throttles"]) all += row["queue"].get<std::string>() + " ";
    return all;
  };
  CHECK(names("", "c") == "b c ");
  CHECK(names("c", nullptr) == "mail ");
  const Json row = web.read("/api/v1/throttles?cursor=c")["throttles"][0];
  CHECK(row == web.read("/api/v1/throttles/mail"));
  CHECK(row["free"] == 2);
  CHECK(row["rule"]["pattern"] == "mail");
  web.push("Mail", "mail");
  CHECK(names("c", nullptr) == "mail ");
  CHECK(web.read("/api/v1/throttles/mail")["ready"] == 1);
}

TEST_CASE("throttles: the rules are listed though no queue has their names") {
  WebFixture web;
  configure(web, {.rate_count = 100, .rate_s = 60});
  CHECK(web.read("/api/v1/throttles")["total"] == 1);
  const Json rule = web.read("/api/v1/throttle-rules")["rules"][0];
  CHECK(rule["pattern"] == "mail");
  CHECK(rule["limits"]["rate_count"] == 100);
  CHECK(rule["limits"]["rate_s"] == 60);
}

TEST_CASE("throttles: limits set by hand win over the rule until they are reset") {
  WebFixture web;
  configure(web, kTwo);
  web.push("Mail", "mail");
  const Response set =
      web.post("/api/v1/throttles/mail/set", {{"concurrency", 5}, {"timeout_s", 30}});
  CHECK(set.is_change);
  const Json shown = Json::parse(set.body);
  CHECK(shown["is_by_hand"] == true);
  CHECK(shown["limits"]["concurrency"] == 5);
  CHECK(shown["rule"]["limits"]["concurrency"] == 2);
  configure(web, {.concurrency = 3, .timeout_s = 60});
  CHECK(web.read("/api/v1/throttles/mail")["limits"]["concurrency"] == 5);
  CHECK(web.post("/api/v1/throttles/mail/reset").body == R"({"queue":"mail"})");
  CHECK(web.read("/api/v1/throttles/mail")["limits"]["concurrency"] == 3);
  CHECK(web.post("/api/v1/throttles/mail/reset").status == 404);
}

TEST_CASE("throttles: limits may be taken off by hand") {
  WebFixture web;
  configure(web, {.concurrency = 1, .timeout_s = 60});
  web.push("Mail", "mail");
  web.push("Mail", "mail");
  CHECK(web.post("/api/v1/throttles/mail/set").status == 200);
  web.fetch("mail");
  web.fetch("mail");
  const Json shown = web.read("/api/v1/throttles/mail");
  CHECK(shown["is_by_hand"] == true);
  CHECK(shown["limits"]["concurrency"] == nullptr);
  CHECK(shown["free"] == nullptr);
}

TEST_CASE("throttles: limits may be set before there is such a queue") {
  WebFixture web;
  configure(web, kTwo);
  CHECK(web.post("/api/v1/throttles/later/set", {{"worker", 2}, {"timeout_s", 9}}).status == 200);
  const Json shown = web.read("/api/v1/throttles")["throttles"][0];
  CHECK(shown["queue"] == "later");
  CHECK(shown["limits"]["worker"] == 2);
  CHECK(shown["ready"] == 0);
}

TEST_CASE("throttles: of a queue that is not there yet, all places are free") {
  WebFixture web;
  configure(web, kTwo);
  const auto free = [&](const Json& limits) {
    return Json::parse(web.post("/api/v1/throttles/later/set", limits).body)["free"];
  };
  CHECK(free({{"concurrency", 7}, {"timeout_s", 9}}) == 7);
  CHECK(free({{"concurrency", 7}, {"timeout_s", 9}, {"rate_count", 3}, {"rate_s", 1}}) == 3);
  CHECK(free({{"worker", 7}, {"timeout_s", 9}}) == nullptr);
}

TEST_CASE("throttles: of a type of which nothing runs, the limits of its pattern are shown") {
  WebFixture web;
  ThrottleRules rules{.list = {{.pattern = "type:*", .limits = kTwo}}, .has_types = true};
  rules.find = [rule = rules.list.front()](std::string_view name) {
    return is_type_name(name) ? &rule : nullptr;
  };
  web.broker.admin().set_throttle_rules(rules, web.now);
  const Json shown = web.read("/api/v1/throttles/type:Mail");
  CHECK(shown["type"] == "Mail");
  CHECK(shown["limits"]["concurrency"] == 2);
  CHECK(shown["rule"]["pattern"] == "type:*");
  CHECK(shown["taken"] == 0);
  CHECK(shown["free"] == 2);
  CHECK(web.get("/api/v1/throttles/mail").status == 404);
}

TEST_CASE("throttles: where only a rate limits the queue, all its running jobs are counted") {
  WebFixture web;
  configure(web, {.rate_count = 100, .rate_s = 60});
  web.push("Mail", "mail");
  web.push("Mail", "mail");
  web.fetch("mail");
  const Json shown = web.read("/api/v1/throttles/mail");
  CHECK(shown["taken"] == 1);
  CHECK(shown["free"] == 99);
}

TEST_CASE("throttles: limits that make no sense are refused, and say what is wrong") {
  WebFixture web;
  const auto problem_of = [&](const Json& members) {
    const Response refused = web.post("/api/v1/throttles/mail/set", members);
    CHECK(refused.status == 400);
    return Json::parse(refused.body)["error"].get<std::string>();
  };
  for (const Json& wrong : {Json(0), Json(-1), Json(1.5), Json("4"), Json(1'000'001)}) {
    CHECK(problem_of({{"concurrency", wrong}, {"timeout_s", 60}}) ==
          "concurrency is not a whole number from 1 to 1000000");
  }
  CHECK(problem_of({{"worker", 2}}).starts_with("concurrency, worker and per_key need timeout_s"));
  CHECK(problem_of({{"per_key", 2}}).starts_with("concurrency, worker and per_key need timeout_s"));
  CHECK(problem_of({{"timeout_s", 5}}) == "timeout_s needs concurrency, worker or per_key");
  CHECK(problem_of({{"rate_count", 2}}) == "rate_count and rate_s need each other");
  CHECK(problem_of({{"rate", 2}}) == "no such member: rate");
  CHECK(web.read("/api/v1/throttles")["total"] == 0);
}

TEST_CASE("throttles: none is set while the disk is full, nor under a name that is too long") {
  WebFixture web;
  const Json limits{{"concurrency", 1}, {"timeout_s", 60}};
  CHECK(web.post(concat("/api/v1/throttles/", std::string(1025, 'x'), "/set"), limits).status ==
        400);
  web.broker.set_admission(Admission::kNoGrowth);
  CHECK(web.post("/api/v1/throttles/mail/set", limits).status == 503);
}

TEST_CASE("throttles: no limits are set under a name that no queue can have") {
  WebFixture web;
  const Response refused =
      web.post("/api/v1/throttles/my mail/set", {{"concurrency", 1}, {"timeout_s", 60}});
  CHECK(refused.status == 400);
  CHECK(Json::parse(refused.body)["error"] == "no queue can have the name \"my mail\"");
  CHECK(web.read("/api/v1/throttles")["total"] == 0);
}

TEST_CASE("throttles: a type is listed with what counts, and its limits are set and reset") {
  WebFixture web;
  web.broker.admin().set_throttle_rules({}, web.now);
  CHECK(
      web.post("/api/v1/throttles/type:Mail/set", {{"concurrency", 2}, {"timeout_s", 60}}).status ==
      200);
  web.push("Mail", "a");
  web.push("Mail", "b");
  web.fetch("a");
  Json shown = web.read("/api/v1/throttles")["throttles"][0];
  CHECK(shown["name"] == "type:Mail");
  CHECK(shown["type"] == "Mail");
  CHECK(shown["queue"] == nullptr);
  CHECK(shown["is_by_hand"] == true);
  CHECK(shown["taken"] == 1);
  CHECK(shown["free"] == 1);
  CHECK(shown["throttled"] == nullptr);
  CHECK(shown["ready"] == nullptr);
  CHECK(shown["waiting"] == nullptr);
  web.fetch("b");
  shown = web.read("/api/v1/throttles/type:Mail");
  CHECK(shown["free"] == 0);
  CHECK(shown["throttled"] == "2 of 2");
  CHECK(web.post("/api/v1/throttles/type:Mail/reset").status == 200);
  CHECK(web.read("/api/v1/throttles")["total"] == 0);
}

TEST_CASE("throttles: where only a rate limits a type, its running jobs are not counted") {
  WebFixture web;
  web.broker.admin().set_throttle_rules({}, web.now);
  CHECK(web.post("/api/v1/throttles/type:Mail/set", {{"rate_count", 2}, {"rate_s", 60}}).status ==
        200);
  web.push("Mail", "a");
  web.fetch("a");
  const Json shown = web.read("/api/v1/throttles/type:Mail");
  CHECK(shown["taken"] == nullptr);
  CHECK(shown["free"] == 1);
  CHECK(shown["held"] == 1);
}

TEST_CASE("throttles: by hand one type is limited, and no pattern of types") {
  WebFixture web;
  for (const char* name : {"type:", "type:Mail*", "type:[a]"}) {
    CAPTURE(name);
    const Response refused = web.post("/api/v1/throttles/" + std::string(name) + "/set",
                                      {{"concurrency", 2}, {"timeout_s", 60}});
    CHECK(refused.status == 400);
    CHECK(Json::parse(refused.body)["error"] ==
          "after type: comes one jobtype; patterns are for config files");
  }
  CHECK(web.read("/api/v1/throttles")["total"] == 0);
}

TEST_CASE("throttles: a type has no limit of each worker or key") {
  WebFixture web;
  for (const char* name : {"worker", "per_key"}) {
    const Response refused =
        web.post("/api/v1/throttles/type:Mail/set", {{name, 2}, {"timeout_s", 60}});
    CHECK(refused.status == 400);
    CHECK(Json::parse(refused.body)["error"] == "worker and per_key limit queues, not types");
  }
}

TEST_CASE("throttles: a queue with limits of keys tells how many keys it has") {
  WebFixture web;
  web.broker.admin().set_throttle_rules({}, web.now);
  for (const char* key : {"acme", "acme", "bolt"}) {
    web.push("Mail", "mail", concat(R"(,"custom":{"throttle_key":")", key, "\"}"));
  }
  CHECK(web.post("/api/v1/throttles/mail/set", {{"per_key", 1}, {"timeout_s", 60}}).status == 200);
  web.settle();
  web.fetch("mail");
  Json shown = web.read("/api/v1/throttles/mail");
  CHECK(shown["limits"]["per_key"] == 1);
  CHECK(shown["keys"] == 2);
  CHECK(shown["taken"] == 1);
  CHECK(shown["free"] == nullptr);
  CHECK(shown["throttled"] == nullptr);
  web.fetch("mail");
  web.wait("mail");
  CHECK(web.read("/api/v1/throttles/mail")["throttled"] == "1 of each key");
}

TEST_CASE("throttles: the lists are paged") {
  WebFixture web;
  for (const char* name : {"a", "b", "c"}) {
    CHECK(web.post(concat("/api/v1/throttles/", name, "/set"), {{"rate_count", 1}, {"rate_s", 1}})
              .status == 200);
  }
  const Json first = web.read("/api/v1/throttles?limit=2");
  CHECK(first["next"] == "b");
  CHECK(web.read("/api/v1/throttles?limit=2&cursor=b")["throttles"][0]["queue"] == "c");
  CHECK(web.get("/api/v1/throttle-rules?cursor=x").status == 400);
}

}  // namespace millrace::http
