#include "http/routes/job_query.hpp"

#include "http/kit/text.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

/// The types of the jobs that match.
std::string types(WebFixture& web, const std::string& state, const std::string& query) {
  std::string found;
  const Json page = web.read(concat("/api/v1/jobs?state=", state, "&q=", query));
  for (const Json& job : page["jobs"]) found += job["type"].get<std::string>() + " ";
  return found;
}

std::string problem_of(const std::string& query) {
  const auto parsed = parse_query(query);
  return parsed ? "" : parsed.error().text;
}

}  // namespace

TEST_CASE("query: terms hold together, OR separates alternatives, and - negates") {
  WebFixture web;
  web.push("SendMail", "mail");
  web.push("SendPush", "push");
  web.push("Report", "mail", R"(,"custom":{"needle":"a b"})");
  CHECK(types(web, "ready", "type:Send*") == "SendMail SendPush ");
  CHECK(types(web, "ready", "type:Send* -queue:push") == "SendMail ");
  CHECK(types(web, "ready", "queue:push OR type:Report") == "Report SendPush ");
  CHECK(types(web, "ready", "queue:push type:Report OR type:SendMail") == "SendMail ");
  CHECK(types(web, "ready", "-type:Send* -needle") == "");
  CHECK(types(web, "ready", "\"a b\"") == "Report ");
  CHECK(types(web, "ready", "-text:\"a b\"") == "SendMail SendPush ");
  CHECK(types(web, "ready", "jid:job-1001 OR id:2") == "SendMail SendPush ");
}

TEST_CASE("query: ages, attempts and failures are compared") {
  WebFixture web;
  web.fail("Early", "no");
  web.now += 2h;
  web.fail("Late", "no");
  web.now += 10min;
  CHECK(types(web, "retrying", "age>1h") == "Early ");
  CHECK(types(web, "retrying", "age<1h") == "Late ");
  CHECK(types(web, "retrying", "failed>1h") == "Early ");
  CHECK(types(web, "retrying", "failed<1h") == "Late ");
  CHECK(types(web, "retrying", "-failed<1h age>1m") == "Early ");
  CHECK(types(web, "retrying", "attempts>0") == "Early Late ");
  CHECK(types(web, "retrying", "attempts>1") == "");
  CHECK(types(web, "retrying", "attempts<2 failed>1h OR type:Late") == "Early Late ");
  CHECK(types(web, "retrying", "failed<2000-01-01T00:00:00Z OR failed>1h") == "Early ");
  web.push("New");
  CHECK(types(web, "ready", "-failed>1s") == "New ");
}

TEST_CASE("query: the problem with a query is said") {
  CHECK(problem_of("color:red") == "there is no filter \"color:red\"");
  CHECK(problem_of("state:dead OR type:A") ==
        "state is not part of the query: use the parameter state");
  CHECK(problem_of("age:1h") == "write age> and a value");
  CHECK(problem_of("attempts>many") == "attempts> takes a number, such as 3");
  CHECK(problem_of("age>soon") == "age> takes a duration such as 90s, 30m, 2h or 7d");
  CHECK(problem_of("failed>soon") ==
        "failed> takes a duration such as 90s, 30m, 2h or 7d, or a time such as "
        "2026-11-26T10:05:00Z");
  CHECK(problem_of("type:") == "type is empty: leave it out");
  CHECK(problem_of("type:\"A") == "a quote does not end: type:\"A");
  CHECK(problem_of("OR type:A") == "OR needs a filter on both sides");
  CHECK(problem_of("type:A OR") == "OR needs a filter on both sides");
  CHECK(problem_of(" ") == "OR needs a filter on both sides");
}

TEST_CASE("query: it has at most so many filters") {
  std::string query;
  for (std::size_t i = 0; i < kQueryTermsMax; ++i) query += "type:A ";
  CHECK(problem_of(query) == "");
  CHECK(problem_of(query + "type:A") == "a query has at most 32 filters");
  WebFixture web;
  CHECK(web.get("/api/v1/jobs?q=" + query + "B").status == 400);
}

TEST_CASE("query: a change of all jobs that match means those that were counted") {
  WebFixture web;
  web.fail("Early", "no");
  web.now += 2h;
  web.fail("Late", "no");
  CHECK(web.read("/api/v1/jobs/count?state=retrying&q=failed>1h")["matched"] == 1);
  const std::string as_of = show_as_of(web.broker.view(), web.now);
  web.now += 2h;
  const Response begun = web.post(
      "/api/v1/operations",
      {{"action", "delete"}, {"states", {"retrying"}}, {"q", "failed>1h"}, {"as_of", as_of}});
  REQUIRE(begun.status == 202);
  CHECK(Json::parse(begun.body)["title"] == "delete retrying jobs with q \"failed>1h\"");
  web.settle();
  CHECK(types(web, "retrying", "age>0s") == "Late ");
}

}  // namespace millrace::http
