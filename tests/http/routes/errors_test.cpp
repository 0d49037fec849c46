#include "http/desk.hpp"
#include "http/routes/job_filter.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("errors: failures that differ in numbers are one group") {
  CHECK(normalized_message("job 17 at 0xdeadbeef01 took 3.5 s") == "job # at #x# took #.# s");
  Desk desk;
  desk.fail("Mail", "timeout after 3 s");
  desk.fail("Mail", "timeout after 44 s", true);
  desk.fail("Mail", "refused");
  const Json page = desk.read("/api/v1/errors");
  CHECK(page["next"] == "dead");
  const Json dead = desk.read("/api/v1/errors?cursor=dead");
  REQUIRE(dead["groups"].size() == 1);
  CHECK(dead["groups"][0]["message"] == "timeout after # s");
  CHECK(dead["next"] == "before");
  CHECK(desk.get("/api/v1/errors?cursor=ready").status == 400);
  CHECK(desk.get("/api/v1/errors?cursor=dead:").status == 400);
}

TEST_CASE("errors: what waits again, or is at work again, is still of its group") {
  Desk desk;
  const JobId waits = desk.fail("Mail", "timeout after 3 s");
  const JobId works = desk.fail("Mail", "timeout after 4 s", true);
  desk.push("Mail");
  CHECK(desk.broker.admin().change(works, Mutation::Action::kRequeue, desk.now));
  CHECK(desk.broker.admin().change(waits, Mutation::Action::kRequeue, desk.now));
  CHECK(desk.fetch("failing") == works);
  const Json page = desk.read("/api/v1/errors?cursor=before");
  REQUIRE(page["groups"].size() == 1);
  CHECK(page["groups"][0]["ready"] == 1);
  CHECK(page["groups"][0]["reserved"] == 1);
  CHECK(page["groups"][0]["dead"] == 0);
  CHECK(page["to_look_at"] == 2);
  CHECK(page["next"] == nullptr);
}

}  // namespace millrace::http
