#include "http/routes/job_view.hpp"

#include "http/kit/text.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("job: the whole story of a failed one") {
  WebFixture web;
  const JobId id = web.fail("Mail", "no route");
  const Json job = web.read("/api/v1/jobs/" + std::to_string(id));
  CHECK(job["state"] == "retrying");
  CHECK(job["error"]["message"] == "no route");
  CHECK(job["error"]["backtrace"] == Json{"a:1"});
  CHECK(job["error"]["retries_left"] == 25);
  CHECK(job["work_unit"]["args"] == Json{1, "two"});
  CHECK(job["tallies"]["reserves"] == 1);
}

TEST_CASE("job: when a failed one runs again, and why then") {
  WebFixture web;
  const std::string path = "/api/v1/jobs/" + std::to_string(web.fail("Mail", "no route"));
  const std::string why = web.read(path)["error"]["next_why"];
  CHECK(why.starts_with("retry 1 of 25, "));
  CHECK(why.ends_with(" s after the failure: the usual back-off"));
  web.broker.admin().set_retry_delays([](const Job&, std::string_view) {
    return std::optional(RetryDelays{.seconds = {90}, .from = "custom.retry_delays"});
  });
  CHECK_FALSE(std::string(web.read(path)["error"]["next_why"]).ends_with("retry_delays"));
  const JobId id = web.fail("Mail", "no route");
  CHECK(web.read("/api/v1/jobs/" + std::to_string(id))["error"]["next_why"] ==
        "retry 1 of 25, 90 s after the failure: custom.retry_delays");
}

TEST_CASE("job: numbers of a pushed one are given as they were written") {
  WebFixture web;
  const JobId id = web.push("Mail", "default", R"(,"custom":{"n":[18446744073709551617,1e400]})");
  const std::string job = web.get("/api/v1/jobs/" + std::to_string(id)).body;
  CHECK(job.find(R"("custom":{"n":[18446744073709551617,1e400]})") != std::string::npos);
}

TEST_CASE("job: the bytes of a pushed one are what a worker gets") {
  WebFixture web;
  const JobId id = web.push("Mail");
  const std::string path = "/api/v1/jobs/" + std::to_string(id);
  const std::string body = web.get(path + "/body").body;
  CHECK(web.read(path)["body"]["text"] == body);
  CHECK(web.read(path)["body_bytes"] == body.size());
}

TEST_CASE("job: bytes that are no text are shown in base64") {
  WebFixture web;
  const JobId id = web.put(std::string("\xff\x00\x01", 3));
  const Json job = web.read("/api/v1/jobs/" + std::to_string(id));
  CHECK(job["body"]["base64"] == "/wAB");
  CHECK(job["body"]["text"] == nullptr);
}

TEST_CASE("job: bytes that are no text are escaped in rows") {
  WebFixture web;
  web.put(std::string("a\xff\x00", 3));
  CHECK(web.read("/api/v1/jobs?state=ready")["jobs"][0]["args"] == "a\\xff\\x00");
}

TEST_CASE("job: of a long body only the beginning is shown") {
  WebFixture web;
  const JobId id = web.put(std::string(300'000, 'x'));
  const Json job = web.read("/api/v1/jobs/" + std::to_string(id));
  CHECK(job["body"]["is_cut"] == true);
  CHECK(job["body"]["text"].get<std::string>().size() == 256 * 1024);
  CHECK(web.get("/api/v1/jobs/" + std::to_string(id) + "/body").body.size() == 300'000);
}

TEST_CASE("job: of a long pushed job the beginning of its JSON is shown") {
  WebFixture web;
  const JobId id =
      web.push("Mail", "default", concat(R"(,"custom":{"x":")", std::string(500'000, 'x'), "\"}"));
  const Json job = web.read(concat("/api/v1/jobs/", id));
  CHECK(job["work_unit"] == nullptr);
  CHECK(job["body"]["is_cut"] == true);
  CHECK(job["body_bytes"] == web.get(concat("/api/v1/jobs/", id, "/body")).body.size());
  CHECK(job["body"]["text"].get<std::string>().size() == 256 * 1024);
}

TEST_CASE("job: a long body without any beginning of a character is shown in base64") {
  WebFixture web;
  const JobId id = web.put(std::string(300'000, '\x80'));
  const Json job = web.read(concat("/api/v1/jobs/", id));
  CHECK(job["body"]["is_text"] == false);
  CHECK(job["body"]["base64"].get<std::string>().starts_with("gICA"));
}

}  // namespace millrace::http
