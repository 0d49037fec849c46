#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("errors: failures that differ in numbers are one group") {
  WebFixture web;
  web.fail("Mail", "timeout after 3 s");
  web.fail("Mail", "timeout after 44 s", true);
  web.fail("Mail", "refused");
  const Json page = web.read("/api/v1/errors");
  CHECK(page["next"] == "dead");
  const Json dead = web.read("/api/v1/errors?cursor=dead");
  REQUIRE(dead["groups"].size() == 1);
  CHECK(dead["groups"][0]["message"] == "timeout after # s");
  CHECK(dead["next"] == "before");
  CHECK(web.get("/api/v1/errors?cursor=ready").status == 400);
  CHECK(web.get("/api/v1/errors?cursor=dead:").status == 400);
}

TEST_CASE("errors: what waits again, or is at work again, is still of its group") {
  WebFixture web;
  const JobId waits = web.fail("Mail", "timeout after 3 s");
  const JobId works = web.fail("Mail", "timeout after 4 s", true);
  web.push("Mail");
  CHECK(web.broker.admin().change(works, Mutation::Action::kRequeue, web.now));
  CHECK(web.broker.admin().change(waits, Mutation::Action::kRequeue, web.now));
  CHECK(web.fetch("failing") == works);
  const Json page = web.read("/api/v1/errors?cursor=before");
  REQUIRE(page["groups"].size() == 1);
  CHECK(page["groups"][0]["ready"] == 1);
  CHECK(page["groups"][0]["reserved"] == 1);
  CHECK(page["groups"][0]["dead"] == 0);
  CHECK(page["to_look_at"] == 2);
  CHECK(page["next"] == nullptr);
}

}  // namespace millrace::http
