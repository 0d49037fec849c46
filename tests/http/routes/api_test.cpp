#include "http/kit/text.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("jobs: a parameter that nobody knows, or that is there twice, is refused") {
  WebFixture web;
  const Response refused = web.get("/api/v1/jobs/count?state=ready&quue=nosuch");
  CHECK(refused.status == 400);
  CHECK(refused.body == R"({"error":"no such parameter: quue"})");
  CHECK(web.get("/api/v1/jobs?state=ready&state=dead").status == 400);
  CHECK(web.get("/api/v1/jobs/1?states=dead").status == 400);
  CHECK(web.get("/health?probe=1").status == 200);
}

TEST_CASE("jobs: a parameter that says nothing is refused, but for a cursor") {
  WebFixture web;
  for (const char* name : {"limit", "order", "state", "queue", "older_than_s"}) {
    const Response refused = web.get(concat("/api/v1/jobs?", name, "="));
    CHECK(refused.status == 400);
    CHECK(refused.body == concat(R"({"error":")", name, R"( is empty: leave it out"})"));
  }
  CHECK(web.get("/api/v1/jobs?cursor=").status == 200);
  CHECK(web.get("/api/v1/queues?sort=").status == 400);
}

TEST_CASE("api: where jobs can only be ended, the rest is refused, and the overview says it") {
  WebFixture web;
  const std::string job = "/api/v1/jobs/" + std::to_string(web.push("Mail"));
  web.broker.set_admission(Admission::kNoGrowth);
  CHECK(web.post(job + "/kill").status == 503);
  CHECK(web.post("/api/v1/queues/default/pause").status == 503);
  CHECK(web.read("/api/v1/overview")["attention"][0]["text"] ==
        "The journal's disk is full: new jobs, burying, delays and pauses are refused");
  web.broker.set_admission(Admission::kEndingsOnly);
  CHECK(web.post(job + "/delete").status == 200);
}

TEST_CASE("api: while stopping it shows everything and changes nothing") {
  WebFixture web;
  const JobId id = web.push("Mail");
  web.traffic.is_stopping = true;
  CHECK(web.get("/api/v1/overview").status == 200);
  CHECK(web.post("/api/v1/jobs/" + std::to_string(id) + "/delete").status == 503);
  CHECK(web.find(id) != nullptr);
}

TEST_CASE("api: unknown paths and wrong methods") {
  WebFixture web;
  CHECK(web.get("/api/v1/nothing").status == 404);
  CHECK(web.post("/api/v1/jobs/1/foo").status == 404);
  CHECK(web.get("/api/v1/jobs/1/foo").status == 404);
  CHECK(web.post("/api/v1/queues/mail/explode").status == 404);
  CHECK(web.get("/api/v1/queues/mail/explode").status == 404);
  const auto allowed = [](const Response& response) {
    CHECK(response.status == 405);
    return response.headers.at("Allow");
  };
  CHECK(allowed(web.post("/api/v1/overview")) == "GET, HEAD");
  CHECK(allowed(web.post("/api/v1/jobs/count")) == "GET, HEAD");
  CHECK(allowed(web.post("/api/v1/queues/mail")) == "GET, HEAD");
  CHECK(allowed(web.get("/api/v1/operations/1/cancel")) == "POST");
  CHECK(allowed(web.get("/api/v1/jobs/1/retry")) == "POST");
  CHECK(allowed(web.get("/api/v1/queues/mail/pause")) == "POST");
  web.put("x", "mail/pause");
  CHECK(web.read("/api/v1/queues/mail/pause")["ready"] == 1);
}

TEST_CASE("changes: an empty instance matches no server") {
  WebFixture web;
  Request request = request_of("POST", "/api/v1/queues/default/resume");
  request.headers["x-instance"] = "";
  CHECK(web.ask(request).status == 409);
}

TEST_CASE("changes: a request from before a restart changes nothing") {
  WebFixture web;
  const JobId id = web.put("x");
  Request request = request_of("POST", "/api/v1/jobs/" + std::to_string(id) + "/delete");
  request.headers["x-instance"] = "another";
  CHECK(web.ask(request).status == 409);
  CHECK(web.find(id) != nullptr);
  request.headers["x-instance"] = "first";
  CHECK(web.ask(request).status == 200);
}

TEST_CASE("changes: none is made while the disk stores nothing") {
  WebFixture web;
  const JobId id = web.put("x");
  web.traffic.is_stalled = true;
  CHECK(web.post("/api/v1/jobs/" + std::to_string(id) + "/delete").status == 503);
  CHECK(web.get("/api/v1/jobs/" + std::to_string(id)).status == 200);
}

}  // namespace millrace::http
