#include "http/routes/alerts.hpp"

#include "http/kit/text.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

using Kind = AlertCondition::Kind;

AlertRule rule_of(AlertCondition condition, AlertRule::Form form = AlertRule::Form::kJson) {
  return {.name = "night",
          .form = form,
          .receiver = "https://example.com",
          .routing_key = "key",
          .hold = 1min,
          .repeat = 1h,
          .conditions = {std::move(condition)}};
}

AlertCondition concern_of(const char* kind) {
  return {.text = kind, .concern = kind};
}

/// Rounds of an alert, whose messages arrive at once, unless something is wrong with that.
struct Rounds {
  WebFixture web;
  std::string problem = {};

  explicit Rounds(AlertRule rule) {
    web.alerts.set({std::move(rule)});
    (void)after({});
  }

  /// What is sent in that time.
  std::vector<Json> after(Duration time) {
    std::vector<Json> sent;
    for (const Time end = web.now + time;; web.now = web.alerts.next_due()) {
      web.alerts.work(web.site, web.system, web.now);
      for (const AlertMessage& each : web.alerts.take()) {
        sent.push_back(Json::parse(each.body));
        web.alerts.note({each.place, each.is_firing, 1, problem}, web.broker.activity(), web.now);
      }
      if (web.alerts.next_due() > end) break;
    }
    return sent;
  }

  void pause(std::string_view queue = "mail") {
    web.push("Mail", queue);
    CHECK(web.broker.admin().pause(queue, std::nullopt, web.now));
  }
  void resume(std::string_view queue = "mail") {
    CHECK(web.broker.admin().pause(queue, 0, web.now));
  }

  /// The latest action in Activity, with its details.
  std::string noted() {
    const Json change = web.read("/api/v1/activity")["changes"].at(0);
    return change["action"].get<std::string>() + " " + change["details"].get<std::string>();
  }
};

std::vector<Json> status_of(const std::vector<Json>& sent) {
  std::vector<Json> all;
  for (const Json& each : sent) all.push_back(each["status"]);
  return all;
}

}  // namespace

TEST_CASE("alerts: one fires once it has held for its time, and is over after the same time") {
  Rounds rounds(rule_of(concern_of("paused")));
  rounds.pause();
  CHECK(rounds.after(59s).empty());
  const auto fired = rounds.after(10s);
  REQUIRE(fired.size() == 1);
  CHECK(fired[0]["status"] == "firing");
  CHECK(fired[0]["alert"] == "night");
  CHECK(fired[0]["condition"] == "paused");
  CHECK(fired[0]["level"] == "notice");
  CHECK(fired[0]["text"] == "mail is paused with 1 waiting job");
  CHECK(fired[0]["items"][0]["queue"] == "mail");
  CHECK(fired[0]["server"] == "web");
  CHECK(rounds.noted() == "alerts/fired paused: mail is paused with 1 waiting job");
  CHECK(rounds.after(30min).empty());
  rounds.resume();
  CHECK(rounds.after(59s).empty());
  const auto over = rounds.after(10s);
  REQUIRE(over.size() == 1);
  CHECK(over[0]["status"] == "resolved");
  CHECK(over[0]["text"] == fired[0]["text"]);
  CHECK(over[0]["since"] == fired[0]["since"]);
  CHECK(rounds.after(3h).empty());
  CHECK(rounds.web.alerts.sent() == 2);
}

TEST_CASE("alerts: one that goes on is repeated") {
  Rounds rounds(rule_of(concern_of("paused")));
  rounds.pause();
  CHECK(rounds.after(3h).size() == 3);
}

TEST_CASE("alerts: what comes and goes within its time is not sent") {
  Rounds rounds(rule_of(concern_of("paused")));
  for (int i = 0; i < 5; ++i) {
    rounds.pause();
    CHECK(rounds.after(40s).empty());
    rounds.resume();
    CHECK(rounds.after(40s).empty());
  }
}

TEST_CASE("alerts: a queue whose oldest job waits too long, among those of the pattern") {
  const auto has_queue = [](std::string_view queue) { return queue.starts_with("mail"); };
  Rounds rounds(rule_of({.text = "latency of mail* over 5m",
                         .kind = Kind::kLatency,
                         .has_queue = has_queue,
                         .span = 5min}));
  rounds.web.push("Mail", "other");
  for (int i = 0; i < 6; ++i) rounds.web.push("Mail", concat("mail-", i));
  CHECK(rounds.after(5min).empty());
  const auto fired = rounds.after(2min);
  REQUIRE(fired.size() == 1);
  CHECK(fired[0]["level"] == "trouble");
  CHECK(fired[0]["items"].size() == kConcernsOfKindMax);
  CHECK(fired[0]["text"].get<std::string>().starts_with(
      "mail-0 has a job that has been ready for 6 min; mail-1"));
  CHECK(fired[0]["text"].get<std::string>().ends_with("; and 2 more"));
}

TEST_CASE("alerts: queues without a worker, and others are not looked at") {
  AlertCondition condition = concern_of("abandoned");
  condition.has_queue = [](std::string_view queue) { return queue == "mail"; };
  Rounds rounds(rule_of(condition));
  rounds.web.push("Mail", "other");
  CHECK(rounds.after(10min).empty());
  rounds.web.push("Mail", "mail");
  const auto fired = rounds.after(10min);
  REQUIRE(fired.size() == 1);
  CHECK(fired[0]["text"] == "mail has 1 waiting job and no worker");
}

TEST_CASE("alerts: dead jobs that become more, and it is over when they do not") {
  AlertRule rule =
      rule_of({.text = "2 dead in 10m", .kind = Kind::kDead, .span = 10min, .dead = 2});
  rule.hold = 0s;
  Rounds rounds(std::move(rule));
  CHECK(rounds.after(10s).empty());
  rounds.web.fail("Mail", "first", true);
  CHECK(rounds.after(1min).empty());
  rounds.web.fail("Mail", "second", true);
  const auto fired = rounds.after(10s);
  REQUIRE(fired.size() == 1);
  CHECK(fired[0]["text"] == "The dead set grew by 2 jobs");
  CHECK(status_of(rounds.after(11min)) == std::vector<Json>{"resolved"});
}

TEST_CASE("alerts: the disk") {
  Rounds rounds(rule_of(concern_of("disk")));
  rounds.web.system = {.disk_free_bytes = 1, .disk_total_bytes = 100};
  const auto fired = rounds.after(2min);
  REQUIRE(fired.size() == 1);
  CHECK(fired[0]["text"] == "Only 1 % of the journal's disk is free");
  CHECK(fired[0]["level"] == "trouble");
}

TEST_CASE("alerts: a takeover is told at once, where a log is shared") {
  Rounds rounds(rule_of({.text = "takeover", .kind = Kind::kTakeover}));
  rounds.web.alerts.take_over(rounds.web.now, false);
  CHECK(rounds.after(10s).empty());
  rounds.web.traffic.leadership.node = "b";
  const auto fired = rounds.after(10s);
  REQUIRE(fired.size() == 1);
  CHECK(fired[0]["text"] == "b leads the log now");
  // Another one leads for a moment, within the five minutes.
  rounds.web.alerts.take_over(rounds.web.now, true);
  CHECK(status_of(rounds.after(10s)) == std::vector<Json>{"firing"});
  CHECK(status_of(rounds.after(10min)) == std::vector<Json>{"resolved"});
}

TEST_CASE("alerts: one that leads again says what still fires") {
  Rounds rounds(rule_of(concern_of("paused")));
  rounds.pause();
  CHECK(rounds.after(2min).size() == 1);
  rounds.web.alerts.take_over(rounds.web.now, false);
  CHECK(rounds.after(10min).empty());
  rounds.web.alerts.take_over(rounds.web.now, true);
  CHECK(status_of(rounds.after(10s)) == std::vector<Json>{"firing"});
}

TEST_CASE("alerts: a leader without a lease sends nothing") {
  Rounds rounds(rule_of(concern_of("paused")));
  rounds.pause();
  rounds.web.traffic.leadership.may_answer = false;
  CHECK(rounds.after(1h).empty());
  rounds.web.traffic.leadership.may_answer = true;
  CHECK(rounds.after(2min).size() == 1);
}

TEST_CASE("alerts: a silence holds back what fires, and what is over") {
  Rounds rounds(rule_of(concern_of("paused")));
  CHECK(rounds.web.post("/api/v1/alerts/night/silence", {{"seconds", 600}}).status == 200);
  CHECK(rounds.noted() == "alerts/silence silenced for 600 s");
  rounds.pause();
  CHECK(rounds.after(9min).empty());
  CHECK(status_of(rounds.after(2min)) == std::vector<Json>{"firing"});
  CHECK(rounds.web.post("/api/v1/alerts/night/silence", {{"seconds", 600}}).status == 200);
  rounds.resume();
  CHECK(rounds.after(9min).empty());
  CHECK(rounds.web.post("/api/v1/alerts/night/unsilence").status == 200);
  CHECK(status_of(rounds.after(10s)) == std::vector<Json>{"resolved"});
}

TEST_CASE("alerts: a test fires at once and is over, also while there is a silence") {
  Rounds rounds(rule_of(concern_of("paused")));
  CHECK(rounds.web.post("/api/v1/alerts/night/silence", {{"seconds", 600}}).status == 200);
  CHECK(rounds.web.post("/api/v1/alerts/night/test").status == 200);
  const auto sent = rounds.after(10s);
  CHECK(status_of(sent) == std::vector<Json>{"firing", "resolved"});
  CHECK(sent.at(0)["text"] == "This is a test");
  CHECK(rounds.after(3h).empty());
}

TEST_CASE("alerts: what could not be sent is noted, and the present is sent a while later") {
  AlertRule rule = rule_of(concern_of("paused"));
  rule.repeat = {};
  Rounds rounds(std::move(rule));
  rounds.problem = "no connection";
  rounds.pause();
  CHECK(rounds.after(10min).size() == 1);
  CHECK(rounds.noted() ==
        "alerts/failed paused: fired, could not be sent; tries: 1; no connection");
  CHECK(rounds.web.alerts.failed() == 1);
  const Json alert = rounds.web.read("/api/v1/alerts")["alerts"][0];
  CHECK(alert["conditions"][0]["state"] == "firing");
  CHECK(alert["conditions"][0]["is_delivered"] == false);
  CHECK(alert["last"]["problem"] == "no connection");
  CHECK(rounds.after(1h).size() == 4);
  // Nobody knows that it fired: so nobody is told that it is over.
  rounds.resume();
  CHECK(rounds.after(2h).empty());
  rounds.problem = {};
  rounds.pause();
  CHECK(status_of(rounds.after(2min)) == std::vector<Json>{"firing"});
  rounds.problem = "no connection";
  rounds.resume();
  CHECK(status_of(rounds.after(2min)) == std::vector<Json>{"resolved"});
  rounds.problem = {};
  CHECK(status_of(rounds.after(20min)) == std::vector<Json>{"resolved"});
  CHECK(rounds.after(3h).empty());
}

TEST_CASE("alerts: while a message is on its way, no other one follows") {
  Rounds rounds(rule_of(concern_of("paused")));
  rounds.pause();
  std::size_t messages = 0;
  for (WebFixture& web = rounds.web; web.now < Time{1'700'010'000s}; web.now += 5s) {
    web.alerts.work(web.site, web.system, web.now);
    messages += web.alerts.take().size();
  }
  CHECK(messages == 1);
}

TEST_CASE("alerts: another process knows what was told, and the silences") {
  Rounds before(rule_of(concern_of("paused")));
  before.pause();
  CHECK(before.after(2min).size() == 1);
  CHECK(before.web.alerts.silence("night", before.web.now + 10min));
  const Json saved = before.web.alerts.save();

  Rounds after(rule_of(concern_of("paused")));
  after.web.now = before.web.now;
  after.web.alerts.restore(saved);
  const Json shown = after.web.read("/api/v1/alerts")["alerts"][0];
  CHECK(shown["conditions"][0]["state"] == "firing");
  CHECK(shown["silenced_until"].is_string());
  CHECK(after.after(9min).empty());
  const auto over = after.after(2min);
  REQUIRE(over.size() == 1);
  CHECK(over[0]["status"] == "resolved");
  CHECK(over[0]["text"] == "mail is paused with 1 waiting job");
}

TEST_CASE("alerts: those of a reload that keep their name and condition go on") {
  Rounds rounds(rule_of(concern_of("paused")));
  rounds.pause();
  CHECK(rounds.after(2min).size() == 1);
  AlertRule more = rule_of(concern_of("disk"));
  more.conditions.push_back(concern_of("paused"));
  rounds.web.alerts.set({std::move(more)});
  CHECK(rounds.after(30min).empty());
  rounds.resume();
  CHECK(status_of(rounds.after(2min)) == std::vector<Json>{"resolved"});
  rounds.web.alerts.set({});
  CHECK(rounds.web.alerts.next_due() == kNever);
}

TEST_CASE("alerts: Slack takes texts of others as text") {
  Rounds rounds(rule_of(concern_of("stuck"), AlertRule::Form::kSlack));
  CHECK(rounds.web.alerts.test("night", rounds.web.now));
  const auto sent = rounds.after(1s);
  REQUIRE(!sent.empty());
  CHECK(sent[0] == Json{{"text", "*Firing* night on web: This is a test"}});
  AlertRule rule = rule_of(concern_of("paused"), AlertRule::Form::kSlack);
  rule.name = "<!channel> & others";
  Rounds hostile(rule);
  CHECK(hostile.web.alerts.test(rule.name, hostile.web.now));
  CHECK(hostile.after(1s).at(0)["text"] ==
        "*Firing* &lt;!channel&gt; &amp; others on web: This is a test");
}

TEST_CASE("alerts: PagerDuty is told the end of the same incident") {
  Rounds rounds(rule_of(concern_of("paused"), AlertRule::Form::kPagerDuty));
  rounds.pause();
  const Json fired = rounds.after(2min).at(0);
  CHECK(fired["routing_key"] == "key");
  CHECK(fired["event_action"] == "trigger");
  CHECK(fired["payload"]["summary"] == "mail is paused with 1 waiting job");
  CHECK(fired["payload"]["source"] == "web");
  CHECK(fired["payload"]["severity"] == "warning");
  rounds.resume();
  const Json over = rounds.after(2min).at(0);
  CHECK(over["event_action"] == "resolve");
  CHECK(over["dedup_key"] == fired["dedup_key"]);
}

TEST_CASE("alerts: what the API refuses") {
  Rounds rounds(rule_of(concern_of("paused")));
  CHECK(rounds.web.post("/api/v1/alerts/day/test").status == 404);
  CHECK(rounds.web.post("/api/v1/alerts/night/silence").status == 400);
  CHECK(rounds.web.post("/api/v1/alerts/night/silence", {{"seconds", 0}}).status == 400);
  CHECK(rounds.web.post("/api/v1/alerts/night/silence", {{"seconds", 40'000'000}}).status == 400);
}

}  // namespace millrace::http
