#include "http/kit/text.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

std::string pushed(const std::string& jid, const std::string& args) {
  return R"({"jid":")" + jid + R"(","jobtype":"Mail","args":[)" + args + "]}";
}

/// With the jid in place of the one that the fixture gives.
JobId push(WebFixture& web, const std::string& jid, const std::string& args) {
  Request request = request_of("POST", "/api/v1/jobs");
  request.body = pushed(jid, args);
  const Response answer = web.ask_all(std::move(request));
  REQUIRE_MESSAGE(answer.status == 201, answer.body);
  return Json::parse(answer.body)["id"].get<JobId>();
}

TEST_CASE("named jobs: pushed jobs of a jid are found in every state, the newest first") {
  WebFixture web;
  const JobId first = push(web, "same-jid", "1");
  CHECK(web.fetch() == first);
  const JobId second = push(web, "same-jid", "2");
  push(web, "other-jid", "1");
  const Json found = web.read("/api/v1/jids/same-jid");
  REQUIRE(found["jobs"].size() == 2);
  CHECK(found["jid"] == "same-jid");
  CHECK(found["jobs"][0]["id"] == second);
  CHECK(found["jobs"][1]["id"] == first);
  CHECK(found["jobs"][1]["state"] == "reserved");
  CHECK(found["has_more"] == false);
  CHECK(found["counts"]["reserved"] == 1);
  CHECK(web.read("/api/v1/jids/same-ji")["jobs"].empty());
}

TEST_CASE("named jobs: odd jids are found by what they mean") {
  WebFixture web;
  const JobId slash = push(web, "slash/a/b", "1");
  const JobId escaped = push(web, R"(the-caf\u00e9)", "1");
  CHECK(web.read("/api/v1/jids/slash/a/b")["jobs"][0]["id"] == slash);
  CHECK(web.read("/api/v1/jids/the-café")["jobs"][0]["id"] == escaped);
}

TEST_CASE("named jobs: of very many the newest hundred are shown") {
  WebFixture web;
  for (int i = 0; i < 101; ++i) push(web, "same-jid", std::to_string(i));
  const Json found = web.read("/api/v1/jids/same-jid");
  CHECK(found["jobs"].size() == 100);
  CHECK(found["has_more"] == true);
}

TEST_CASE("named jobs: after many ends the first search takes some turns") {
  WebFixture web;
  JobId last = 0;
  for (int i = 0; i < 1'200; ++i) {
    last = push(web, "job-no-" + std::to_string(i), "1");
    CHECK(web.fetch() == last);
    web.acknowledge(last);
  }
  const Json found = web.read("/api/v1/jids/job-no-1199");
  CHECK(web.turns == 3);
  REQUIRE(found["finished"].size() == 1);
  CHECK(found["finished"][0]["id"] == last);
  CHECK(web.read("/api/v1/jids/job-no-0")["finished"].size() == 1);
  CHECK(web.turns == 1);
}

TEST_CASE("named jobs: a job that is pushed again is answered with its number") {
  WebFixture web;
  const JobId id = push(web, "same-jid", "1");
  CHECK(push(web, "same-jid", "1") == id);
  CHECK(web.read("/api/v1/jids/same-jid")["jobs"].size() == 1);
  CHECK(web.get("/metrics").body.find("millrace_pushes_repeated_total 1\n") != std::string::npos);
}

}  // namespace
}  // namespace millrace::http
