#include "http/routes/busiest_queues.hpp"

#include "http/asking.hpp"
#include "http/kit/text.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

bool is_labelled(const std::string& text, const std::string& queue) {
  return text.find("millrace_jobs{queue=\"" + queue + "\",state=\"ready\"}") != std::string::npos;
}

}  // namespace

TEST_CASE("metrics: queues that hold most jobs, or had most to do lately, have labels") {
  WebFixture web;
  fill_queues(web, 1200);
  web.put("x", "full");
  web.put("x", "full");
  web.now += 1min;
  for (int i = 0; i < 3; ++i) {
    const JobId id = web.push("Mail", "quick");
    CHECK(web.post(concat("/api/v1/jobs/", id, "/delete")).status == 200);
  }
  const std::string text = web.get("/metrics").body;
  CHECK(is_labelled(text, "full"));
  CHECK(is_labelled(text, "quick"));
  CHECK(is_labelled(text, "q998"));
  CHECK_FALSE(is_labelled(text, "q999"));
}

}  // namespace millrace::http
