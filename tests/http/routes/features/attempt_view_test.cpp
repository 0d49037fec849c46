#include "http/routes/features/attempt_view.hpp"

#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("attempts: a job that has not failed has none") {
  WebFixture web;
  const JobId id = web.push("Mail");
  CHECK(web.read("/api/v1/jobs/" + std::to_string(id))["attempts"] == Json::array());
}

TEST_CASE("attempts: the failed run of a job, with its error") {
  WebFixture web;
  const JobId id = web.fail("Mail", "no route");
  const Json attempts = web.read("/api/v1/jobs/" + std::to_string(id))["attempts"];
  REQUIRE(attempts.size() == 1);
  CHECK(attempts[0]["number"] == 1);
  CHECK(attempts[0]["outcome"] == "failed");
  CHECK(attempts[0]["error"]["message"] == "no route");
  CHECK(attempts[0]["error"]["backtrace"] == Json{"a:1"});
}

}  // namespace millrace::http
