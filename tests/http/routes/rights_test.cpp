#include <iterator>
#include <string>
#include <vector>

#include "http/kit/text.hpp"
#include "http/routes/handlers.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"
#include "support/users.hpp"

/// What users see and change who have a right for some queues, or for all.
namespace millrace::http {
namespace {

using access::Right;

/// What there is of a queue.
struct Things {
  std::string queue;
  std::string job = {};
  std::string finished = {};
  std::string cron = {};
};

/// A server with jobs of `mail`, and then with jobs of another queue. All texts of that one say
/// `secret`.
class SharedServer {
 public:
  explicit SharedServer(bool has_shop = true) : mail(fill("mail", "Mail", "timeout")) {
    web.put("x");
    if (has_shop) shop = fill("shop-secret", "SecretType", "SecretError");
    web.now += 1min;
  }

  Response ask(const access::User& user, Request request) {
    const access::SharedUsers users = test::users_of({user});
    request.caller = test::caller_of(users, user.name);
    Response response = web.ask_all(std::move(request));
    if (response.write_body) response.body = response.write_body();
    return response;
  }
  Response get(const access::User& user, const std::string& target) {
    return ask(user, request_of("GET", target));
  }
  Response post(const access::User& user, const std::string& target,
                const Json& body = Json::object()) {
    Request request = request_of("POST", target);
    request.body = body.dump();
    return ask(user, std::move(request));
  }

  WebFixture web;
  Things mail;
  Things shop{.queue = "shop-secret"};

 private:
  Things fill(const std::string& queue, const std::string& type, const std::string& error) {
    Things things{.queue = queue, .cron = queue + "-cron"};
    things.finished = std::to_string(web.push(type, queue));
    web.acknowledge(web.fetch(queue));
    web.fail(type, error + " of a job", false, queue);
    web.fail(type, error + " of a dead job", true, queue);
    web.push(type, queue);
    web.fetch(queue);
    web.push(type, queue, R"(,"at":"2033-01-01T00:00:00Z")");
    web.push(type, queue);
    things.job = std::to_string(web.push(type, queue, R"(,"custom":{"unique_for":600})"));
    web.cron.entries.push_back({.id = things.cron,
                                .is_named = true,
                                .schedule = "* * * * *",
                                .jobtype = type,
                                .queue = queue,
                                .args = "[]"});
    return things;
  }
};

const access::User& mail_viewer() {
  static const access::User user = test::user_of_mail("ana", {Right::kView});
  return user;
}
const access::User& mail_operator() {
  static const access::User user = test::user_of_mail("ana", {Right::kView, Right::kOperate});
  return user;
}

/// The path with the name of something of that queue in it.
std::string path_to(const RouteRight& route, const Things& things) {
  std::string path(route.path);
  const std::size_t star = path.find('*');
  if (star == path.npos) return path;
  const auto is_of = [&](std::string_view kind) {
    return path.starts_with("/api/v1/" + std::string(kind) + "/");
  };
  const std::string name = is_of("finished")                       ? things.finished
                           : is_of("cron")                         ? things.cron
                           : is_of("queues") || is_of("throttles") ? things.queue
                                                                   : things.job;
  return path.replace(star, 1, name);
}

bool is_refused(const Response& response) {
  return response.status == 403 && response.body.find("not_allowed") != std::string::npos;
}

Response do_it(SharedServer& server, const access::User& user, const RouteRight& route,
               const Things& things) {
  const std::string path = path_to(route, things);
  if (route.method == "GET") return server.get(user, path);
  if (path == "/api/v1/jobs" || path == "/api/v1/jobs/check") {
    return server.post(user, path,
                       {{"jobtype", "T"}, {"args", Json::array()}, {"queue", things.queue}});
  }
  return server.post(user, path);
}

/// Whether a user with the right for `mail` is refused what concerns these things.
bool needs_more(const RouteRight& route, bool is_foreign) {
  const bool is_push = route.path == "/api/v1/jobs" && route.method == "POST";
  // Without a parameter, a series is of all queues.
  if (route.where == "all queues" || route.path == "/api/v1/series") return true;
  return is_foreign && (route.where == "this queue" || is_push);
}

}  // namespace

TEST_CASE("rights: each route answers those with its right, and refuses all others") {
  for (const RouteRight& route : route_rights()) {
    for (const auto& each : access::kRightNames) {
      const Right right = each.second;
      CAPTURE(route.method);
      CAPTURE(route.path);
      CAPTURE(each.first);
      const bool is_open = route.where == "nobody" || route.where == "a user";
      const bool has_right = right == route.needed;
      for (const bool is_foreign : {false, true}) {
        CAPTURE(is_foreign);
        SharedServer server;
        const Things& things = is_foreign ? server.shop : server.mail;
        const access::User of_all = test::user_of_all("ana", {right});
        CHECK(is_refused(do_it(server, of_all, route, things)) == (!is_open && !has_right));
        SharedServer again;
        const access::User of_mail = test::user_of_mail("ana", {right});
        const bool lacks = !has_right || needs_more(route, is_foreign);
        CHECK(is_refused(do_it(again, of_mail, route, things)) == (!is_open && lacks));
      }
    }
  }
}

TEST_CASE("rights: without a caller, nothing but the health is answered") {
  for (const RouteRight& route : route_rights()) {
    CAPTURE(route.path);
    SharedServer server;
    Request request = request_of(std::string(route.method), path_to(route, server.mail));
    request.caller = access::Caller();
    CHECK(is_refused(server.web.ask_all(std::move(request))) == (route.where != "nobody"));
  }
}

TEST_CASE("rights: what is of a foreign queue looks like what does not exist") {
  const access::User users[] = {mail_viewer(), mail_operator(),
                                test::user_of_mail("ana", {Right::kPush}),
                                test::user_of_mail("ana", {Right::kOperate})};
  for (const RouteRight& route : route_rights()) {
    if (route.where != "its queue") continue;
    for (const access::User& user : users) {
      CAPTURE(route.path);
      SharedServer server;
      const Things nothing{.queue = "none", .job = "999999", .finished = "999999", .cron = "none"};
      const Response foreign = do_it(server, user, route, server.shop);
      const Response missing = do_it(server, user, route, nothing);
      CHECK(foreign.status == missing.status);
      CHECK(foreign.body == missing.body);
      CHECK(foreign.status >= 400);
    }
  }
}

TEST_CASE("rights: nothing that a user reads depends on what is in other queues") {
  SharedServer server;
  SharedServer without(false);
  const std::string more[] = {
      "/api/v1/jobs?state=dead",
      "/api/v1/jobs?state=retrying&limit=1",
      "/api/v1/jobs?state=reserved",
      "/api/v1/jobs?state=scheduled&order=desc",
      "/api/v1/jobs?queue=shop-secret",
      "/api/v1/jobs?queue=shop*",
      "/api/v1/jobs?q=secret",
      "/api/v1/jobs?state=dead&error=Secret",
      "/api/v1/jobs?type=SecretType",
      "/api/v1/jobs?text=two",
      "/api/v1/jobs/count?state=ready",
      "/api/v1/jobs/count?state=dead",
      "/api/v1/jobs/count?state=ready&breakdown=1",
      "/api/v1/jobs/count?state=ready&queue=shop-secret",
      "/api/v1/jobs/count?state=ready&arg=1:two",
      "/api/v1/queues?sort=ready&order=desc&recent=1",
      "/api/v1/queues?match=shop",
      "/api/v1/queues?limit=1",
      "/api/v1/finished?queue=shop-secret",
      "/api/v1/finished?limit=1",
      "/api/v1/jids/job-1001",
      "/api/v1/jids/job-1010",
      "/api/v1/series?queue=mail",
      "/api/v1/series?queue=shop-secret",
      "/api/v1/series?type=SecretType",
      "/api/v1/locks?limit=1",
      "/api/v1/locks?queue=shop-secret",
      "/api/v1/activity?text=secret",
      "/api/v1/errors?match=secret",
      "/api/v1/errors?queue=mail",
      "/api/v1/errors?queue=shop-secret",
      "/api/v1/errors?muted=only",
      "/api/v1/throttles?limit=1",
  };
  std::vector<std::string> targets(std::begin(more), std::end(more));
  for (const RouteRight& route : route_rights()) {
    if (route.method != "GET" || route.where == "nobody" || route.where == "a user") continue;
    for (const Things& things : {server.mail, server.shop}) {
      targets.push_back(path_to(route, things));
    }
  }
  for (SharedServer* const each : {&server, &without}) {
    REQUIRE(each->web.post("/api/v1/queues/mail/pause").status == 200);
  }
  REQUIRE(server.web.post("/api/v1/queues/shop-secret/pause").status == 200);
  for (const bool has_more : {false, true}) {
    access::User user = mail_viewer();
    // With more than one queue, walks pass jobs of foreign ones.
    if (has_more) user.grants.front().queues.push_back("default");
    for (const std::string& target : targets) {
      CAPTURE(target);
      const Response seen = server.get(user, target);
      CHECK(seen.body == without.get(user, target).body);
      const bool is_named = target.find("ecret") != target.npos;
      if (!is_named) CHECK(seen.body.find("ecret") == seen.body.npos);
    }
  }
}

TEST_CASE("rights: an error is of those who may see all queues of its jobs") {
  SharedServer server;
  const auto errors = [&](const access::User& user) {
    return Json::parse(server.get(user, "/api/v1/errors").body)["groups"];
  };
  const Json all = errors(test::user_of_all("ana", {Right::kView}));
  const Json own = errors(mail_viewer());
  REQUIRE(own.size() == 2);
  CHECK(all.size() == 4);
  for (const Json& group : all) {
    CAPTURE(group["message"]);
    const std::string path = "/api/v1/errors/" + group["group"].get<std::string>();
    const bool is_own = group["queues"] == Json{"mail"};
    CHECK(server.get(mail_viewer(), path).status == (is_own ? 200 : 404));
    CHECK(server.post(mail_operator(), path + "/mute", {{"seconds", 60}}).status ==
          (is_own ? 200 : 404));
    CHECK(is_refused(server.post(mail_viewer(), path + "/note", {{"text", "seen"}})));
  }
  // Another queue has it too now.
  server.web.fail("Mail", "timeout of a job", false, "orders");
  CHECK(errors(mail_viewer()).size() == 1);
}

TEST_CASE("rights: many jobs are changed where the user may, and the others stay") {
  SharedServer server;
  const JobId own = std::stoull(server.mail.job);
  const JobId foreign = std::stoull(server.shop.job);
  const Json killed = {{"action", "kill"}, {"ids", {own, foreign, 999'999}}};
  CHECK(is_refused(server.post(mail_viewer(), "/api/v1/jobs/change", killed)));
  const Response changed = server.post(mail_operator(), "/api/v1/jobs/change", killed);
  CHECK(changed.body == R"({"changed":1,"gone":2,"refused":0})");
  CHECK(server.web.find(own)->state == JobState::kDead);
  CHECK(server.web.find(foreign)->state == JobState::kReady);

  // Sees all, and operates on some.
  access::User user = mail_operator();
  user.grants.push_back({.queues = {"*"}, .may = {Right::kView}});
  const Json deleted = {{"action", "delete"}, {"ids", {own, foreign}}};
  CHECK(server.post(user, "/api/v1/jobs/change", deleted).body ==
        R"({"changed":1,"gone":0,"refused":1})");
  CHECK(server.post(user, "/api/v1/jobs/" + server.shop.job + "/kill").body ==
        R"({"error":"ana needs the right operate for shop-secret","code":"not_allowed"})");
}

TEST_CASE("rights: a job is moved only to a queue for which the user has the right as well") {
  SharedServer server;
  const JobId own = std::stoull(server.mail.job);
  const std::string path = "/api/v1/jobs/" + server.mail.job + "/move";
  CHECK(is_refused(server.post(mail_operator(), path, {{"to", "shop-secret"}})));
  CHECK(is_refused(server.post(mail_operator(), "/api/v1/jobs/change",
                               {{"action", "move"}, {"ids", {own}}, {"to", "shop-secret"}})));
  CHECK(
      is_refused(server.post(mail_operator(), "/api/v1/operations",
                             {{"action", "move"}, {"states", {"ready"}}, {"to", "shop-secret"}})));
  CHECK(server.post(mail_operator(), path, {{"to", "mail-2"}}).status == 200);
}

TEST_CASE("rights: an operation of all jobs changes those where the user may") {
  SharedServer server;
  const Json all = {{"action", "delete"}, {"states", {"ready", "dead"}}};
  CHECK(is_refused(
      server.post(mail_operator(), "/api/v1/operations",
                  {{"action", "delete"}, {"states", {"ready"}}, {"queue", "shop-secret"}})));
  const Response started = server.post(mail_operator(), "/api/v1/operations", all);
  REQUIRE(started.status == 202);
  server.web.settle();
  const Json counts = server.web.read("/api/v1/queues")["queues"];
  for (const Json& queue : counts) {
    if (queue["name"] == "mail") CHECK(queue["ready"] == 0);
    if (queue["name"] == "mail") CHECK(queue["dead"] == 0);
    if (queue["name"] == "shop-secret") CHECK(queue["ready"] == 2);
    if (queue["name"] == "shop-secret") CHECK(queue["dead"] == 1);
  }
  const Json done = Json::parse(server.get(mail_operator(), "/api/v1/operations/1").body);
  CHECK(done["changed"] == 3);
  CHECK(done["to_look_at"] == 100);
}

TEST_CASE("rights: an operation is shown to who has started it, or operates on its queue") {
  SharedServer server;
  REQUIRE(server.web.post("/api/v1/queues/mail/clear").status == 202);
  REQUIRE(server.web.post("/api/v1/queues/shop-secret/clear").status == 202);
  REQUIRE(
      server.web.post("/api/v1/operations", {{"action", "delete"}, {"states", {"dead"}}}).status ==
      202);
  const Json seen = Json::parse(server.get(mail_viewer(), "/api/v1/operations").body);
  REQUIRE(seen["operations"].size() == 1);
  CHECK(seen["operations"][0]["title"] == "clear mail");
  CHECK(server.get(mail_viewer(), "/api/v1/operations/1").status == 200);
  CHECK(server.get(mail_viewer(), "/api/v1/operations/2").status == 404);
  CHECK(server.post(mail_operator(), "/api/v1/operations/3/cancel").status == 404);
}

TEST_CASE("rights: activity is what the user did, and what was done to its queues") {
  SharedServer server;
  REQUIRE(server.web.post("/api/v1/queues/mail/pause").status == 200);
  REQUIRE(server.web.post("/api/v1/queues/shop-secret/pause").status == 200);
  const Json seen = Json::parse(server.get(mail_viewer(), "/api/v1/activity").body);
  REQUIRE(seen["changes"].size() == 1);
  CHECK(seen["changes"][0]["target"] == "mail");
}

TEST_CASE("rights: many queues are looked at in several turns") {
  SharedServer server;
  for (int i = 0; i < 2'500; ++i) server.web.put("x", "tube-" + std::to_string(i));
  const Json seen = Json::parse(server.get(mail_viewer(), "/api/v1/queues").body);
  CHECK(seen["total"] == 1);
  CHECK(server.web.turns >= 3);
}

}  // namespace millrace::http
