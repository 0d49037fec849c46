#include <utility>

#include "faktory/service.hpp"
#include "faktory/session/talking.hpp"
#include "support/doctest.hpp"
#include "support/queued_background.hpp"

namespace millrace::faktory {
namespace {

/// A batch does not hold up the session for it.
constexpr std::size_t kBodyBytes = 5 * WorkUnitFormat::kLongBodyBytes;
static_assert(kBodyBytes < kBatchBytesPause);

JobId put(InMemoryServer& server, std::string_view body) {
  const auto id =
      server.broker().put({.queue = "default", .body = body, .ttr_s = 60}, server.now());
  REQUIRE(id);
  return *id;
}

/// A session whose long replies are made when the test says so. It has shaken hands.
struct Fetching {
  Fetching() {
    session->start(server.now());
    session->receive("HELLO {\"v\":2,\"wid\":\"w\"}\n", server.now());
    session->sent(session->take_output().size());
  }
  ~Fetching() { session->close(server.now()); }
  Fetching(const Fetching&) = delete;
  Fetching& operator=(const Fetching&) = delete;

  /// All that the session answers.
  std::string answer() {
    std::string answer;
    background.finish_one();
    while (session->wants_resume()) {
      session->resume(server.now());
      const std::string part = session->take_output();
      CHECK(part.size() <= 2 * kOutputBytesPause);
      session->sent(part.size());
      answer += part;
    }
    return answer;
  }

  InMemoryServer server;
  test::QueuedBackground background;
  WorkUnits format;
  Service service{server.broker(), format, {.background = &background}, server.now()};
  const std::unique_ptr<Session> session = service.open();
};

}  // namespace

TEST_CASE("FETCH of a long job that was put: is rendered in the background") {
  for (const std::string& body : {std::string(kBodyBytes, '\n'), std::string(kBodyBytes, '\xFF')}) {
    Fetching fetching;
    const JobId id = put(fetching.server, body);
    fetching.session->receive("FETCH default\nACK {\"jid\":\"beanstalk-1\"}\n",
                              fetching.server.now());
    CHECK(fetching.session->output().empty());
    CHECK(fetching.session->is_at_work());
    CHECK(fetching.session->unrendered_bytes() == kBodyBytes);
    CHECK(fetching.session->kept_bytes() > 0);
    std::string expected;
    fetching.format.render(*fetching.server.broker().view().jobs().find(id), "default", {},
                           expected);
    const std::string answer = fetching.answer();
    CHECK((answer == "$" + std::to_string(expected.size()) + "\r\n" + expected + "\r\n+OK\r\n"));
    CHECK(fetching.session->unrendered_bytes() == 0);
    CHECK(fetching.server.broker().view().jobs().find(id) == nullptr);
  }
}

TEST_CASE("FETCH of a long job that was put: is shown as it was when it was fetched") {
  Fetching fetching;
  Broker& broker = fetching.server.broker();
  const JobId id = put(fetching.server, std::string(kBodyBytes, 'a'));
  fetching.session->receive("FETCH default\n", fetching.server.now());
  std::string expected;
  fetching.format.render(*broker.view().jobs().find(id), "default", {}, expected);
  CHECK(broker.admin().change_held(id, Mutation::Action::kDiscard, fetching.server.now()));
  CHECK(broker.view().jobs().find(id) == nullptr);
  CHECK((payload(fetching.answer()) == expected));
}

TEST_CASE("FETCH of a long job that was put: it is given back if the client leaves meanwhile") {
  for (const bool is_rendered : {false, true}) {
    Fetching fetching;
    const JobId id = put(fetching.server, std::string(kBodyBytes, 'a'));
    fetching.session->receive("FETCH default\n", fetching.server.now());
    const Job& job = *fetching.server.broker().view().jobs().find(id);
    CHECK(job.state == JobState::kReserved);
    if (is_rendered) {
      fetching.background.finish_one();
      fetching.session->resume(fetching.server.now());
      fetching.session->sent(fetching.session->take_output().size());
    }
    fetching.session->close(fetching.server.now());
    CHECK(job.state == JobState::kReady);
  }
}

TEST_CASE("FETCH of a long job that was put: it is the worker's once all of it was sent") {
  Fetching fetching;
  const JobId id = put(fetching.server, std::string(kBodyBytes, 'a'));
  fetching.session->receive("FETCH default\n", fetching.server.now());
  CHECK(fetching.answer().size() > kBodyBytes);
  fetching.session->close(fetching.server.now());
  CHECK(fetching.server.broker().view().jobs().find(id)->state == JobState::kReserved);
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
