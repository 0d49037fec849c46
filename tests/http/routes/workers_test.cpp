#include "http/asking.hpp"
#include "http/desk.hpp"
#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("workers: who came after they were counted is not told with the others") {
  Desk desk;
  const std::string before = as_of_now(desk);
  desk.now += 1s;
  const Json none{{"all", true}, {"as_of", "1.0"}};
  CHECK(desk.post("/api/v1/workers/stop", none).body == R"({"told":0})");
  CHECK(desk.post("/api/v1/workers/stop", {{"all", true}, {"as_of", before}}).body ==
        R"({"told":1})");
}

TEST_CASE("workers: quiet one, stop all") {
  Desk desk;
  CHECK(desk.post("/api/v1/workers/quiet", {{"wid", "w1"}}).body == R"({"told":1})");
  CHECK(desk.read("/api/v1/workers")["workers"][0]["state"] == "quiet");
  CHECK(desk.post("/api/v1/workers/stop", {{"all", true}}).body == R"({"told":1})");
  CHECK(desk.read("/api/v1/workers")["workers"][0]["state"] == "stopping");
  CHECK(desk.post("/api/v1/workers/quiet", {{"wid", "w2"}}).status == 404);
  CHECK(desk.post("/api/v1/workers/quiet").status == 400);
}

TEST_CASE("workers: jobs in hand are counted and listed") {
  Desk desk;
  const JobId id = desk.push("Mail");
  CHECK(desk.fetch() == id);
  CHECK(desk.read("/api/v1/workers")["workers"][0]["jobs"] == 1);
  CHECK(desk.read("/api/v1/jobs?state=reserved&wid=w1")["jobs"][0]["id"] == id);
}

}  // namespace millrace::http
