#include "core/broker/features/type_meters.hpp"
#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

Json type_named(WebFixture& web, std::string_view name) {
  const Json page = web.read("/api/v1/types");
  for (const Json& each : page["types"]) {
    if (each["type"] == name) return each;
  }
  return nullptr;
}

void run(WebFixture& web, std::string_view type, Duration length) {
  const JobId id = web.push(type);
  CHECK(web.fetch("default") == id);
  web.now += length;
  web.acknowledge(id);
}

TEST_CASE("types: one alone is told if asked for") {
  WebFixture web;
  run(web, "Mail", 2s);
  run(web, "Sync", 2s);
  const Json page = web.read("/api/v1/types?type=Mail");
  REQUIRE(page["types"].size() == 1);
  CHECK(page["types"][0]["type"] == "Mail");
  CHECK(web.read("/api/v1/types?type=None")["types"].empty());
  CHECK(web.get("/api/v1/types?type=").status == 400);
}

TEST_CASE("types: runs are counted and measured by type") {
  WebFixture web;
  CHECK(web.read("/api/v1/types")["types"].empty());
  run(web, "Mail", 2s);
  run(web, "Mail", 2s);
  run(web, "Sync", 20ms);
  web.fail("Mail", "after 3 s");
  const Json mail = type_named(web, "Mail");
  CHECK(mail["processed"] == 3);
  CHECK(mail["failed"] == 1);
  CHECK(mail["processed_per_s"] > 0.1);
  CHECK(mail["failed_per_s"] > 0);
  CHECK(mail["run_p95_s"] >= 1.9);
  CHECK(mail["run_p95_s"] <= 2);
  CHECK(mail["last_at"].is_string());
  const Json sync = type_named(web, "Sync");
  CHECK(sync["processed"] == 1);
  CHECK(sync["failed"] == 0);
  CHECK(sync["run_p50_s"] <= 0.05);
}

TEST_CASE("types: runs of a framework's jobs are measured by the class that they wrap") {
  WebFixture web;
  const JobId mail = web.push("ActiveJob::QueueAdapters::FaktoryAdapter::JobWrapper", "default",
                              R"(,"custom":{"wrapped":"InvoiceJob"})");
  CHECK(web.fetch() == mail);
  web.acknowledge(mail);
  const JobId put = web.put(R"({"displayName":"App\\Mail","job":"x@call"})");
  CHECK(web.fetch() == put);
  web.acknowledge(put);
  const JobId plain = web.put("x");
  CHECK(web.fetch() == plain);
  CHECK(type_named(web, "InvoiceJob")["processed"] == 1);
  CHECK(type_named(web, "App\\Mail")["processed"] == 1);
  CHECK(web.read("/api/v1/types")["types"].size() == 2);
}

TEST_CASE("types: escapes in a name make no other type") {
  WebFixture web;
  run(web, "caf\xc3\xa9", 1s);
  run(web, "caf\\u00e9", 1s);
  CHECK(type_named(web, "caf\xc3\xa9")["processed"] == 2);
}

TEST_CASE("types: what has no type is counted apart") {
  WebFixture web;
  const JobId put = web.put("bytes");
  CHECK(web.fetch("default") == put);
  web.now += 1s;
  web.acknowledge(put);
  const Json page = web.read("/api/v1/types");
  CHECK(page["types"].empty());
  CHECK(page["others"]["processed"] == 1);
  CHECK(page["others"]["failed"] == 0);
}

TEST_CASE("types: a long name, and those beyond the limit, are counted apart") {
  WebFixture web;
  run(web, std::string(TypeMeters::kTypeBytesMax + 1, 'x'), 1s);
  CHECK(web.read("/api/v1/types")["others"]["processed"] == 1);
  for (std::size_t i = 0; i <= TypeMeters::kTypesMax; ++i) run(web, "T" + std::to_string(i), 1ms);
  const Json page = web.read("/api/v1/types");
  CHECK(page["types"].size() == TypeMeters::kTypesMax);
  CHECK(page["others"]["processed"] == 2);
  run(web, "T0", 1ms);
  CHECK(type_named(web, "T0")["processed"] == 2);
}

}  // namespace
}  // namespace millrace::http
