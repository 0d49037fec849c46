#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

TEST_CASE("views: one is saved, changed and deleted, and Activity says by whom") {
  WebFixture web;
  CHECK(web.read("/api/v1/views") == Json{{"views", Json::array()}, {"limit", 100}});
  const std::string path = "/api/v1/views/dead mail";
  CHECK(web.get(path).status == 404);
  CHECK(web.post(path + "/set", {{"query", "state:dead"}, {"was", ""}}).status == 200);
  CHECK(web.post(path + "/set", {{"query", "state:dead queue:mail"}}).status == 200);
  const Json view{{"name", "dead mail"}, {"query", "state:dead queue:mail"}};
  CHECK(web.read(path) == view);
  CHECK(web.read("/api/v1/views")["views"] == Json::array({view}));
  CHECK(web.post(path + "/delete").status == 200);
  CHECK(web.post(path + "/delete").status == 404);
  const Json changes = web.read("/api/v1/activity")["changes"];
  REQUIRE(changes.size() == 3);
  CHECK(changes[0]["action"] == "views/delete");
  CHECK(changes[0]["details"] == "state:dead queue:mail → deleted");
  CHECK(changes[1]["details"] == "state:dead → state:dead queue:mail");
  CHECK(changes[2]["target"] == "dead mail");
  CHECK(changes[2]["details"] == "no view → state:dead");
}

TEST_CASE("views: what somebody else has changed meanwhile is not overwritten or deleted") {
  WebFixture web;
  const auto set = [&](const char* query, const char* was) {
    return web.post("/api/v1/views/v/set", {{"query", query}, {"was", was}}).status;
  };
  CHECK(set("state:dead", "state:ready") == 409);
  CHECK(set("state:dead", "") == 200);
  CHECK(set("state:ready", "") == 409);
  CHECK(web.post("/api/v1/views/v/delete", {{"was", "state:ready"}}).status == 409);
  CHECK(web.post("/api/v1/views/v/delete", {{"was", 1}}).status == 400);
  CHECK(set("state:ready", "state:dead") == 200);
  CHECK(web.post("/api/v1/views/v/delete", {{"was", "state:ready"}}).status == 200);
}

TEST_CASE("views: names and queries have limits, and a query need not be valid") {
  WebFixture web;
  const auto set = [&](const std::string& name, const Json& query) {
    return web.post("/api/v1/views/" + name + "/set", {{"query", query}}).status;
  };
  CHECK(set(std::string(64, 'n'), std::string(1000, 'q')) == 200);
  CHECK(set(std::string(65, 'n'), "q") == 400);
  CHECK(set("n", std::string(1001, 'q')) == 400);
  CHECK(set("n", "") == 400);
  CHECK(set("n", 1) == 400);
  CHECK(set("a\nb", "q") == 400);
  CHECK(set("a\xff", "q") == 400);
  CHECK(set("a/b%2F", "no:such (filter") == 200);
  CHECK(web.read("/api/v1/views/a/b%2F")["query"] == "no:such (filter");
  CHECK(web.post("/api/v1/views/" + std::string(65, 'n') + "/delete").status == 404);
}

TEST_CASE("views: there are at most 100") {
  WebFixture web;
  for (int i = 0; i < 100; ++i) {
    CHECK(web.post("/api/v1/views/v" + std::to_string(i) + "/set", {{"query", "q"}}).status == 200);
  }
  CHECK(web.post("/api/v1/views/more/set", {{"query", "q"}}).status == 409);
  CHECK(web.read("/api/v1/views")["views"].size() == 100);
}

}  // namespace
}  // namespace millrace::http
