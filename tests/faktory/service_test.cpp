#include "faktory/service.hpp"

#include <memory>
#include <string>
#include <string_view>

#include "faktory/job/work_unit.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

constexpr std::string_view kSmallJob = R"({"jid":"12345678","jobtype":"T","args":[]})";

struct Served {
  Time now{std::chrono::seconds{1'700'000'000}};
  WorkUnits format;
  Ledger ledger;
  Broker broker{ledger, format, {.random_seed = 1}};
  Service service{broker, format, {.random = [] { return std::uint64_t{4711}; }}, now};

  auto push(std::string_view json) { return service.push(json, now, access::Caller::everybody()); }

  /// Why a job that is pushed in parts is refused.
  PushRefusal put_long(std::string_view json) {
    const std::unique_ptr<PushInParts> push = service.push_in_parts(access::Caller::everybody());
    if (const auto read = push->read(json); !read) return read.error();
    push->begin(now);
    push->make();
    const auto put = push->put(now);
    REQUIRE_FALSE(put);
    return put.error();
  }

  /// What a client that connects now is greeted with.
  std::string greeting() {
    const auto session = service.open();
    session->start(now);
    std::string said = session->output();
    session->close(now);
    return said;
  }
};

}  // namespace

TEST_CASE("service: a new password is for clients that connect from then on") {
  Served served;
  CHECK(served.greeting() == "+HI {\"v\":2}\r\n");
  served.service.set_password("secret");
  CHECK(served.greeting().starts_with("+HI {\"v\":2,\"i\":"));
}

TEST_CASE("service: INFO says that the server is what it was told to be") {
  Served served;
  const auto says = [&](const std::string& text) {
    const std::string info = served.service.info(served.now, {})();
    return info.find("\"server\":{\"description\":\"" + text + "\",") != std::string::npos;
  };
  CHECK(says("Faktory"));
  served.service.set_description("Faktory Enterprise");
  CHECK(says("Faktory Enterprise"));
  served.service.set_description("a\"b");
  CHECK(says("a\\\"b"));
}

TEST_CASE("service: a pushed job is there, and a refused one is told in the words of PUSH") {
  Served served;
  CHECK(served.push(kSmallJob));
  const auto refused = served.push("{}");
  CHECK(refused.error().text == "jobs must have a reasonable jid parameter");
  CHECK(refused.error().reason == PushRefusal::Reason::kInvalid);
}

TEST_CASE("service: why a job is refused is told by a code, for long jobs too") {
  Served served;
  const std::string unique =
      R"({"jid":"12345678","jobtype":"T","args":[],"custom":{"unique_for":60}})";
  CHECK(served.push(R"({"jid":"87654321","jobtype":"T","args":[],)"
                    R"("custom":{"unique_for":60}})"));
  CHECK(served.push(unique).error().reason == PushRefusal::Reason::kNotUnique);
  CHECK(served.put_long(unique).reason == PushRefusal::Reason::kNotUnique);
  CHECK(served.put_long("{}").reason == PushRefusal::Reason::kInvalid);
  CHECK(served.put_long("{").reason == PushRefusal::Reason::kInvalid);
  served.broker.set_admission(Admission::kNoJobs);
  CHECK(served.push(kSmallJob).error().reason == PushRefusal::Reason::kNoRoom);
  CHECK(served.put_long(kSmallJob).reason == PushRefusal::Reason::kNoRoom);
  served.service.drain();
  CHECK(served.put_long(kSmallJob).reason == PushRefusal::Reason::kStopping);
}

TEST_CASE("service: draining refuses pushes") {
  Served served;
  served.service.drain();
  const auto refused = served.push(kSmallJob);
  CHECK(refused.error().reason == PushRefusal::Reason::kStopping);
  CHECK(refused.error().text == "shutdown in progress");
  CHECK(served.broker.view().orders().count(JobState::kReady) == 0);
}

TEST_CASE("service: only clients that are through the handshake are counted") {
  Served served;
  const auto session = served.service.open();
  session->start(served.now);
  CHECK(served.service.connection_count() == 0);
  session->receive("HELLO {\"v\":2}\r\n", served.now);
  CHECK(served.service.connection_count() == 1);
  session->close(served.now);
  CHECK(served.service.connection_count() == 0);
}

}  // namespace millrace::faktory
