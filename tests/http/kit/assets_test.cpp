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

TEST_CASE("assets: the manual is at addresses without a suffix, and runs no script") {
  const Response page = serve_asset(request_of("GET", "/help/operations/options")).value();
  CHECK(page.type == "text/html; charset=utf-8");
  CHECK(page.body.find("<h1 id=\"options\">") != std::string::npos);
  CHECK(page.headers.at("Content-Security-Policy").find("script") == std::string::npos);
  CHECK(serve_asset(request_of("GET", "/help/"))->body.find("Documentation") != std::string::npos);
  CHECK(serve_asset(request_of("GET", "/help/images/life-of-a-job.svg"))->type == "image/svg+xml");
  CHECK(serve_asset(request_of("GET", "/help/nothing"))->status == 404);
  CHECK(serve_asset(request_of("GET", "/help/internals/architecture"))->status == 404);
}

TEST_CASE("assets: the address of the manual without its slash leads to it, under its prefix") {
  Request request = request_of("GET", "/help");
  request.prefix = "/jobs";
  const Response moved = serve_asset(request).value();
  CHECK(moved.status == 307);
  CHECK(moved.headers.at("Location") == "/jobs/help/");
}

TEST_CASE("assets: the manual is smaller than 600 kB") {
  std::size_t bytes = 0;
  for (const Asset& asset : assets()) {
    if (asset.path.starts_with("help/")) bytes += asset.bytes.size();
  }
  CHECK(bytes > 200'000);
  CHECK(bytes < 600'000);
}

TEST_CASE("assets: a browser keeps a file only under an address with its version") {
  const Response page = serve_asset(request_of("GET", "/")).value();
  CHECK(page.headers.at("Cache-Control") == "no-cache");
  const std::string name = "\"assets/app.js?v=";
  const std::size_t at = page.body.find(name);
  REQUIRE(at != std::string::npos);
  const auto caching_of = [](const std::string& version) {
    Request request = request_of("GET", "/assets/app.js");
    request.params = {{"v", version}};
    return serve_asset(request)->headers.at("Cache-Control");
  };
  CHECK(caching_of(page.body.substr(at + name.size(), 16)) == "max-age=31536000, immutable");
  CHECK(caching_of("of another release") == "no-cache");
}

TEST_CASE("assets: the whole of the pages is smaller than 245 kB") {
  std::size_t bytes = 0;
  for (const Asset& asset : assets()) {
    const bool is_manual = asset.path.starts_with("help/");
    if (asset.path != "openapi.json" && !is_manual) bytes += asset.bytes.size();
  }
  CHECK(bytes > 50'000);
  CHECK(bytes < 245'000);
}

}  // namespace millrace::http
