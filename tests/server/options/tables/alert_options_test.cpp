#include "server/options/tables/alert_options.hpp"

#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::server {
namespace {

Outcome<std::vector<AlertOptions>> alerts_in(const std::string& text) {
  return read_alerts({&ConfigDocument::parse("a.toml", text).value(), 1});
}

std::string alert_problem(const std::string& members) {
  const auto alerts = alerts_in("[[alert]]\nname = \"a\"\n" + members + "\n");
  REQUIRE_FALSE(alerts);
  return alerts.error().text;
}

std::string problem_of_condition(const std::string& condition) {
  return alert_problem("url = \"http://x\"\non = [" + condition + "]");
}

AlertOptions alert_at(const std::string& url) {
  const auto alerts =
      alerts_in("[[alert]]\nname = \"a\"\non = [\"disk\"]\nurl = \"" + url + "\"\n");
  REQUIRE_MESSAGE(alerts, alerts.error().text);
  return alerts->front();
}

std::string url_problem(const std::string& url) {
  return alert_problem("on = [\"disk\"]\nurl = \"" + url + "\"");
}

}  // namespace

TEST_CASE("alert options: all of them") {
  const auto alerts = alerts_in(R"([[alert]]
name = "night"
url = "https://hooks.example.com/a/b?token=x"
form = "slack"
secret-file = "/secret"
for = "5m"
repeat = "0s"
on = ["disk", "takeover", {queue = "mail*", latency = "5m"}, {queue = "crm", kind = "abandoned"},
      {dead = 100, within = "10m"}]
)");
  REQUIRE_MESSAGE(alerts, alerts.error().text);
  const AlertOptions& alert = alerts->front();
  CHECK(alert.rule.name == "night");
  CHECK(alert.rule.form == http::AlertRule::Form::kSlack);
  CHECK(alert.rule.receiver == "https://hooks.example.com");
  CHECK(alert.rule.hold == 5min);
  CHECK(alert.rule.repeat == 0s);
  CHECK(alert.target == "/a/b?token=x");
  CHECK(alert.address.text() == "hooks.example.com:443");
  CHECK(alert.secret_file == "/secret");
  const auto& conditions = alert.rule.conditions;
  REQUIRE(conditions.size() == 5);
  CHECK(conditions[0].concern == "disk");
  CHECK(conditions[1].kind == http::AlertCondition::Kind::kTakeover);
  CHECK(conditions[2].text == "latency of mail* over 5m");
  CHECK(conditions[2].span == 5min);
  CHECK(conditions[2].has_queue("mail-1"));
  CHECK_FALSE(conditions[2].has_queue("crm"));
  CHECK(conditions[3].text == "crm abandoned");
  CHECK(conditions[4].text == "100 dead in 10m");
  CHECK(conditions[4].dead == 100);
}

TEST_CASE("alert options: URLs") {
  CHECK(alert_at("http://x").host() == "x");
  CHECK(alert_at("http://x").target == "/");
  CHECK(alert_at("http://x?a=1#b").target == "/?a=1");
  CHECK(alert_at("http://x:8080/a").host() == "x:8080");
  CHECK(alert_at("https://x:443/").host() == "x");
  CHECK(alert_at("http://[::1]/").address.host == "::1");
  CHECK(alert_at("http://[::1]/").host() == "[::1]");
  CHECK(alert_at("http://[::1]:81/").host() == "[::1]:81");
  CHECK(alert_at("http://x/" + std::string(1'991, 'a')).target.size() == 1'992);
}

TEST_CASE("alert options: a URL that is refused is not told, since it may be a secret") {
  for (const char* const url :
       {"ftp://x/hush", "hush", "http://", "http:///hush", "http://x:0/hush", "http://x:y/hush",
        "http://user:hush@x/", "http://x/\\r\\nhush: 1", "http://x/hush hush"}) {
    CAPTURE(url);
    CHECK(url_problem(url).starts_with("a.toml:4: alert: url must "));
    CHECK(url_problem(url).find("hush") == std::string::npos);
  }
  CHECK_FALSE(alerts_in("[[alert]]\nname = \"a\"\non = [\"disk\"]\nurl = \"http://x/" +
                        std::string(1'992, 'a') + "\"\n"));
}

TEST_CASE("alert options: what is wrong is told with its place") {
  CHECK(alert_problem("on = [\"disk\"]") == "a.toml:1: alert: url is missing");
  CHECK(alert_problem("colour = 1") == "a.toml:3: unknown key 'colour' in alert");
  CHECK(alert_problem("url = \"http://x\"") ==
        "a.toml:1: alert: on must be a list of 1 to 20 conditions, such as [\"disk\"]");
  CHECK(alert_problem("url = 7") == "a.toml:3: alert: url must be a text in quotes");
  CHECK(alert_problem("url = \"http://x\"\nform = \"fax\"") ==
        "a.toml:4: alert: form must be \"json\", \"slack\" or \"pagerduty\"");
  CHECK(alert_problem("form = \"pagerduty\"") ==
        "a.toml:1: alert: routing-key-file is needed for pagerduty, and for nothing else");
  CHECK(alert_problem("url = \"http://x\"\nurl-file = \"/x\"") ==
        "a.toml:4: alert: url and url-file contradict each other");
  CHECK(alert_problem("url = \"http://x\"\nfor = 5") ==
        "a.toml:4: alert: for must be a time in whole seconds, such as \"5m\"");
  CHECK(alert_problem("url = \"http://x\"\nfor = \"25h\"").starts_with("a.toml:4: alert: for"));
  CHECK(alerts_in("[[alert]]\nname = \"a b\"").error().text ==
        "a.toml:2: alert: name must be 1 to 64 letters, digits, - and _");
  CHECK(alerts_in("[alert]\nname = \"a\"").error().text ==
        "a.toml:1: an entry begins with [[alert]], in double brackets");
}

TEST_CASE("alert options: conditions that are refused") {
  CHECK(problem_of_condition("\"moon\"").starts_with("a.toml:4: alert: unknown condition 'moon'"));
  CHECK(problem_of_condition("7").starts_with("a.toml:4: alert: unknown condition ''"));
  CHECK(problem_of_condition("\"disk\", \"disk\"") == "a.toml:4: alert: on has one twice");
  for (const char* const table :
       {"{}", "{queue = \"a\"}", "{latency = \"5m\"}", "{queue = \"a\", kind = \"disk\"}",
        "{queue = \"a\", latency = \"0s\"}", "{queue = \"a\", latency = 5}",
        "{queue = \"[a\", latency = \"5m\"}", "{queue = \"ä\", latency = \"5m\"}",
        "{dead = 0, within = \"5m\"}", "{dead = 1, within = \"2h\"}",
        "{dead = 1, within = \"5m\", queue = \"a\"}"}) {
    CAPTURE(table);
    CHECK(problem_of_condition(table).starts_with("a.toml:4: alert: "));
  }
}

TEST_CASE("alert options: 20 alerts of 20 conditions, and no more; each name once") {
  std::string conditions;
  for (int i = 1; i <= 20; ++i) {
    conditions += "{dead = " + std::to_string(i) + ", within = \"1m\"},";
  }
  const auto alert = [&](int number) {
    return "[[alert]]\nname = \"a" + std::to_string(number) + "\"\nurl = \"http://x\"\non = [" +
           conditions + "]\n";
  };
  std::string text;
  for (int i = 1; i <= 20; ++i) text += alert(i);
  CHECK(alerts_in(text)->size() == 20);
  CHECK(alerts_in(text + alert(21)).error().text == "a.toml:81: more than 20 [[alert]]");
  CHECK(alerts_in(alert(1) + alert(1)).error().text ==
        "a.toml:5: the alert at a.toml:1 has the name \"a1\" too");
  CHECK(problem_of_condition(conditions + "\"disk\"").find("1 to 20") != std::string::npos);
}

TEST_CASE("alert options: secrets are read from their files") {
  const Scratch scratch;
  const Log log([](std::string_view) {});
  const std::string text = "[[alert]]\nname = \"a\"\non = [\"disk\"]\nform = \"pagerduty\"\n";
  const auto file = [&](const char* name, const char* content) {
    return std::string(name) + "-file = \"" + scratch.write(name, content) + "\"\n";
  };
  const std::string key = file("routing-key", "key\n");
  auto read = read_alert_secrets(
      *alerts_in(text + key + file("secret", "s") + file("url", "http://x/hush\n")), log);
  REQUIRE_MESSAGE(read, read.error().text);
  CHECK(read->front().rule.routing_key == "key");
  CHECK(read->front().secret == "s");
  CHECK(read->front().target == "/hush");
  CHECK(read->front().rule.receiver == "http://x");
  const auto usual = read_alert_secrets(*alerts_in(text + key), log);
  CHECK(usual->front().rule.receiver == "https://events.pagerduty.com");
  CHECK(usual->front().target == "/v2/enqueue");
  const auto wrong = read_alert_secrets(*alerts_in(text + key + file("url", "hush")), log);
  CHECK(wrong.error().text.starts_with("a.toml:1: alert: the URL in "));
  CHECK(wrong.error().text.find("hush") == std::string::npos);
  const auto none = read_alert_secrets(*alerts_in(text + "routing-key-file = \"/nowhere\"\n"), log);
  CHECK(none.error().text ==
        "a.toml:1: alert: cannot use secret file /nowhere: No such file or directory");
}

}  // namespace millrace::server
