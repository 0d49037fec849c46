#include "http/kit/assets.hpp"

#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("assets: every path that is no file is the page, under its prefix") {
  Request request = request_of("GET", "/queues/mail");
  request.prefix = "/jobs";
  const Response page = serve_asset(request).value();
  CHECK(page.type == "text/html; charset=utf-8");
  CHECK(page.body.find("<base href=\"/jobs/\">") != std::string::npos);
  CHECK(serve_asset(request_of("GET", "/assets/app.js"))->type == "text/javascript; charset=utf-8");
  CHECK(serve_asset(request_of("GET", "/assets/none.js"))->status == 404);
  CHECK_FALSE(serve_asset(request_of("GET", "/api/v1/jobs")));
  CHECK_FALSE(serve_asset(request_of("GET", "/metrics")));
  // A load balancer with a wrong path must not take the page for an answer.
  CHECK_FALSE(serve_asset(request_of("GET", "/health/leader/")));
}

TEST_CASE("assets: the whole of the pages is smaller than 220 kB") {
  std::size_t bytes = 0;
  for (const Asset& asset : assets()) {
    const bool is_loaded = asset.path != "openapi.json" && !asset.path.ends_with(".txt");
    if (is_loaded) bytes += asset.bytes.size();
  }
  CHECK(bytes > 50'000);
  CHECK(bytes < 220'000);
}

}  // namespace millrace::http
