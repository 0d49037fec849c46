#include "http/routes/busiest_queues.hpp"

#include "http/asking.hpp"
#include "http/desk.hpp"
#include "http/kit/text.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

bool is_labelled(const std::string& text, const std::string& queue) {
  return text.find("millrace_jobs{queue=\"" + queue + "\",state=\"ready\"}") != std::string::npos;
}

}  // namespace

TEST_CASE("metrics: queues that hold most jobs, or had most to do lately, have labels") {
  Desk desk;
  fill_queues(desk, 1200);
  desk.put("x", "full");
  desk.put("x", "full");
  desk.now += 1min;
  for (int i = 0; i < 3; ++i) {
    const JobId id = desk.push("Mail", "quick");
    CHECK(desk.post(concat("/api/v1/jobs/", id, "/delete")).status == 200);
  }
  const std::string text = desk.get("/metrics").body;
  CHECK(is_labelled(text, "full"));
  CHECK(is_labelled(text, "quick"));
  CHECK(is_labelled(text, "q998"));
  CHECK_FALSE(is_labelled(text, "q999"));
}

}  // namespace millrace::http
