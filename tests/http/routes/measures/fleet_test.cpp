#include "http/routes/measures/fleet.hpp"

#include <string>
#include <vector>

#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

ClientId join(WebFixture& web, SilentSession& session, const std::string& wid,
              const std::string& label) {
  const ClientId client = web.broker.connect(session);
  CHECK(web.broker.workers().add(
      client, {.wid = wid, .hostname = "host-" + wid, .pid = 1, .labels = {label}}, web.now));
  return client;
}

void watch(WebFixture& web) {
  web.now = std::max(web.now, web.fleet.next_due());
  web.fleet.work(web.broker, web.now);
}

std::vector<std::string> deploys(WebFixture& web) {
  std::vector<std::string> found;
  const Json all = web.read("/api/v1/activity");
  for (const Json& change : all["changes"]) {
    if (change["action"] == "workers/deploy") found.push_back(change["target"]);
  }
  return found;
}

}  // namespace

TEST_CASE("fleet: a finished job names the host of a worker that has left") {
  WebFixture web;
  const JobId id = web.push("Mail");
  CHECK(web.fetch() == id);
  watch(web);
  web.acknowledge(id);
  CHECK(web.read("/api/v1/finished")["jobs"][0]["hostname"] == "box");
  CHECK(web.fleet.find("w1")->pid == 9);
  CHECK(web.fleet.find("other") == nullptr);
}

TEST_CASE("fleet: labels that no worker had are a deploy, and only once") {
  WebFixture web;
  watch(web);  // those that are there at the start are no news
  SilentSession sessions[3];
  join(web, sessions[0], "a", "v2");
  watch(web);
  join(web, sessions[1], "b", "v2");
  watch(web);
  CHECK(deploys(web) == std::vector<std::string>{"v2"});
}

TEST_CASE("fleet: labels that come back after a short while are no deploy, later they are") {
  WebFixture web;
  SilentSession sessions[3];
  const ClientId first = join(web, sessions[0], "a", "v2");
  watch(web);
  web.broker.disconnect(first, web.now);
  web.now += 5min;
  watch(web);
  const ClientId second = join(web, sessions[1], "b", "v2");
  watch(web);
  CHECK(deploys(web).empty());
  web.broker.disconnect(second, web.now);
  web.now += 11min;
  watch(web);
  join(web, sessions[2], "c", "v2");
  watch(web);
  CHECK(deploys(web) == std::vector<std::string>{"v2"});
}

TEST_CASE("fleet: labels that tell workers from each other are no deploys") {
  WebFixture web;
  watch(web);
  std::vector<SilentSession> sessions(Fleet::kLabelsMax + 10);
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    join(web, sessions[i], "w" + std::to_string(i + 10), "pod-" + std::to_string(i));
  }
  watch(web);
  CHECK(deploys(web).size() == Fleet::kLabelsMax - 1);  // besides the first worker's
}

TEST_CASE("fleet: at most so many workers are known, the latest ones") {
  WebFixture web;
  SilentSession session;
  for (std::size_t i = 0; i <= Fleet::kWorkersMax; ++i) {
    const ClientId client = join(web, session, "w" + std::to_string(i + 10), "v1");
    watch(web);
    web.broker.disconnect(client, web.now);
  }
  watch(web);
  CHECK(web.fleet.find("w10") == nullptr);
  CHECK(web.fleet.find("w1010") != nullptr);
}

}  // namespace millrace::http
