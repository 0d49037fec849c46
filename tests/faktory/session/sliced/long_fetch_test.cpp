#include "faktory/session/sliced/long_fetch.hpp"

#include <utility>

#include "faktory/service.hpp"
#include "faktory/session/talking.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

/// A batch does not hold up the session for it.
constexpr std::size_t kBodyBytes = 5 * WrappedBody::kMeasuredBytes;
static_assert(kBodyBytes < kBatchBytesPause);

JobId put(InMemoryServer& server, std::string_view body) {
  const auto id =
      server.broker().put({.queue = "default", .body = body, .ttr_s = 60}, server.now());
  REQUIRE(id);
  return *id;
}

/// All that the session answers, and into how many slices the work was cut.
std::string answer_of(Session& session, InMemoryServer& server, int& slices) {
  std::string answer = session.take_output();
  session.sent(answer.size());
  for (slices = 0; session.wants_resume(); ++slices) {
    session.resume(server.now());
    CHECK(session.output().size() <= 8 * WrappedBody::kWrittenBytes);
    const std::string part = session.take_output();
    session.sent(part.size());
    answer += part;
  }
  return answer;
}

}  // namespace

TEST_CASE("FETCH of a long job that was put: is rendered in slices, and others are served") {
  for (const std::string& body : {std::string(kBodyBytes, '\n'), std::string(kBodyBytes, '\xFF')}) {
    LoneSession lone;
    const JobId id = put(lone.server, body);
    lone.session->receive("FETCH default\nACK {\"jid\":\"beanstalk-1\"}\n", lone.server.now());
    CHECK(lone.session->output().size() < kBodyBytes / 8);
    CHECK(lone.session->unrendered_bytes() >= kBodyBytes);
    CHECK(lone.session->kept_bytes() > 0);
    std::string expected;
    lone.format.render(*lone.server.broker().view().jobs().find(id), "default", {}, expected);
    int slices = 0;
    const std::string answer = answer_of(*lone.session, lone.server, slices);
    CHECK(slices > 25);
    CHECK((answer == "$" + std::to_string(expected.size()) + "\r\n" + expected + "\r\n+OK\r\n"));
    CHECK(lone.session->unrendered_bytes() == 0);
    CHECK(lone.server.broker().view().jobs().find(id) == nullptr);
  }
}

TEST_CASE("FETCH of a long job that was put: is shown as it was when it was fetched") {
  LoneSession lone;
  const JobId id = put(lone.server, std::string(kBodyBytes, 'a'));
  lone.session->receive("FETCH default\n", lone.server.now());
  std::string expected;
  lone.format.render(*lone.server.broker().view().jobs().find(id), "default", {}, expected);
  CHECK(
      lone.server.broker().admin().change_held(id, Mutation::Action::kDiscard, lone.server.now()));
  CHECK(lone.server.broker().view().jobs().find(id) == nullptr);
  int slices = 0;
  const std::string answer = answer_of(*lone.session, lone.server, slices);
  CHECK((payload(answer) == expected));
}

TEST_CASE("FETCH of a long job that was put: it is given back if the client leaves meanwhile") {
  InMemoryServer server;
  WorkUnits format;
  Service service(server.broker(), format, {}, server.now());
  const JobId id = put(server, std::string(kBodyBytes, 'a'));
  const std::unique_ptr<Session> session = service.open();
  session->start(server.now());
  session->receive("HELLO {\"v\":2,\"wid\":\"w\"}\nFETCH default\n", server.now());
  CHECK(server.broker().view().jobs().find(id)->state == JobState::kReserved);
  std::size_t taken = session->take_output().size();
  while (session->unrendered_bytes() > kBodyBytes / 2) {
    session->sent(std::exchange(taken, 0));
    session->resume(server.now());
    taken = session->take_output().size();
  }
  session->close(server.now());
  CHECK(server.broker().view().jobs().find(id)->state == JobState::kReady);
}

TEST_CASE("FETCH of a long job that was put: a waiting worker gets it") {
  InMemoryServer server;
  join(server, "worker", "w");
  CHECK(server.ask("worker", "FETCH default\r\n").empty());
  const std::string body(kBodyBytes, 'a');
  put(server, body);
  server.advance(1s);
  CHECK(contains(server.take_output("worker"), body));
}

}  // namespace millrace::faktory
