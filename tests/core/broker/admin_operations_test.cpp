#include "core/broker/admin_operations.hpp"

#include "core/broker_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::test {

TEST_CASE("change: a held job is left alone, and a job is not made what it is") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.put("x");
  CHECK_FALSE(fixture.broker.admin().change(id, Mutation::Action::kRequeue, fixture.now));
  CHECK(fixture.broker.admin().change(id, Mutation::Action::kKill, fixture.now));
  CHECK_FALSE(fixture.broker.admin().change(id, Mutation::Action::kKill, fixture.now));
  CHECK(fixture.broker.admin().change(id, Mutation::Action::kRequeue, fixture.now));
  CHECK(fixture.reserve(client) == id);
  CHECK_FALSE(fixture.broker.admin().change(id, Mutation::Action::kDiscard, fixture.now));
}

TEST_CASE("move: a job has all that it had, in another queue") {
  BrokerFixture fixture;
  const JobId id = fixture.push_dead("jid=moved", "a");
  const StoredJob before = fixture.job(id);
  CHECK(fixture.broker.admin().change(id, Mutation::Action::kMove, fixture.now, "b"));
  const Job& after = fixture.job(id);
  CHECK(static_cast<const StoredJob&>(after) == before);
  CHECK(after.body_view() == "jid=moved");
  const View& view = fixture.broker.view();
  CHECK(view.queues().at(after.queue).name == "b");
  CHECK(view.queues().at(after.queue).dead.size() == 1);
  CHECK(view.queues().find("a")->job_count() == 0);
  CHECK(view.orders().count(JobState::kDead) == 1);
  CHECK(view.jobs().named(fixture.format.hash_of_name("moved"), 2) == std::vector<JobId>{id});
}

TEST_CASE("move: a tube is gone with its last job") {
  BrokerFixture fixture;
  const JobId id = fixture.put("x", {.queue = "a", .ttr_s = 60});
  CHECK(fixture.broker.admin().change(id, Mutation::Action::kMove, fixture.now, "b"));
  CHECK(fixture.broker.view().queues().find("a") == nullptr);
  CHECK(fixture.broker.view().queues().find("b")->ready.size() == 1);
}

TEST_CASE("move: a ready job comes in the order of its age") {
  BrokerFixture fixture;
  const JobId first = fixture.push("x", "a");
  const JobId second = fixture.push("y", "b");
  CHECK(fixture.broker.admin().change(first, Mutation::Action::kMove, fixture.now, "b"));
  const ClientId client = fixture.client();
  CHECK(fixture.fetch(client, "w", {"b"}) == first);
  CHECK(fixture.fetch(client, "w", {"b"}) == second);
}

TEST_CASE("move: a ready job is served to a client that waits there") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  CHECK(fixture.wait_for(client, {"b"}, "w"));
  const JobId id = fixture.push("x", "a");
  CHECK(fixture.broker.admin().change(id, Mutation::Action::kMove, fixture.now, "b"));
  CHECK(fixture.delivered(client)->job == id);
}

TEST_CASE("move: a held job is left alone, and one that is there already") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const auto move = [&](JobId id, const char* to) {
    return fixture.broker.admin().change(id, Mutation::Action::kMove, fixture.now, to).has_value();
  };
  const JobId id = fixture.push("x");
  CHECK_FALSE(move(id, "default"));
  CHECK(fixture.fetch(client, "w") == id);
  CHECK_FALSE(move(id, "b"));
  CHECK_FALSE(
      fixture.broker.admin().change_held(id, Mutation::Action::kMove, fixture.now).has_value());
  CHECK_FALSE(move(99, "b"));
}

TEST_CASE("move: a job stays where it is while new jobs are refused") {
  BrokerFixture fixture;
  const JobId id = fixture.push("x");
  fixture.broker.set_admission(Admission::kNoJobs);
  const auto moved = fixture.broker.admin().change(id, Mutation::Action::kMove, fixture.now, "b");
  REQUIRE_FALSE(moved);
  CHECK(moved.error() == Refusal::kNoRoom);
}

TEST_CASE("change held: a worker's job is gone, and its ACK finds none") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("jid=held");
  CHECK(fixture.fetch(client, "w") == id);
  const std::string jid = fixture.job(id).reservation()->jid;
  CHECK(fixture.broker.admin().change_held(id, Mutation::Action::kDiscard, fixture.now));
  CHECK_FALSE(fixture.has(id));
  CHECK(fixture.broker.view().orders().worker_held_count() == 0);
  CHECK_FALSE(fixture.broker.workers().ack(client, jid, fixture.now));
}

TEST_CASE("change held: a killed job is dead, and its holder cannot release it") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.put("x");
  CHECK(fixture.reserve(client) == id);
  CHECK(fixture.broker.admin().change_held(id, Mutation::Action::kKill, fixture.now));
  CHECK(fixture.state(id) == JobState::kDead);
  CHECK(fixture.broker.view().orders().held_by(client) == nullptr);
  CHECK_FALSE(fixture.broker.connections().release(client, id, 0, 0, fixture.now));
  CHECK_FALSE(fixture.broker.connections().touch(client, id, fixture.now));
}

TEST_CASE("change held: a requeued job is served to a client that waits, and counts no failure") {
  BrokerFixture fixture;
  const ClientId holder = fixture.client();
  const ClientId other = fixture.client();
  const JobId id = fixture.push("x");
  CHECK(fixture.fetch(holder, "stuck") == id);
  CHECK(fixture.wait(other));
  CHECK(fixture.broker.admin().change_held(id, Mutation::Action::kRequeue, fixture.now));
  CHECK(fixture.job(id).reservation()->client == other);
  CHECK(fixture.job(id).failure() == nullptr);
  CHECK(fixture.job(id).tallies().releases == 1);
}

TEST_CASE("change held: a job that nobody holds is left alone") {
  BrokerFixture fixture;
  const JobId id = fixture.put("x");
  CHECK_FALSE(fixture.broker.admin().change_held(id, Mutation::Action::kDiscard, fixture.now));
  CHECK_FALSE(fixture.broker.admin().change_held(99, Mutation::Action::kDiscard, fixture.now));
  CHECK(fixture.has(id));
}

TEST_CASE(
    "forget queue: it is removed with its last job, and until then serves clients that wait") {
  BrokerFixture fixture;
  const ClientId client = fixture.client();
  const JobId id = fixture.push("x", "mail");
  CHECK(fixture.broker.admin().pause("mail", std::nullopt, fixture.now));
  CHECK(fixture.wait_for(client, {"mail"}, "w"));
  CHECK(fixture.broker.admin().forget_queue("mail", fixture.now));
  CHECK(fixture.delivered(client)->job == id);
  CHECK(fixture.broker.view().queues().find("mail") != nullptr);
  CHECK(fixture.broker.workers().ack(client, "j1", fixture.now));
  CHECK(fixture.broker.view().queues().find("mail") == nullptr);
}

TEST_CASE("forget queue: an unknown one is refused") {
  BrokerFixture fixture;
  CHECK_FALSE(fixture.broker.admin().forget_queue("none", fixture.now));
}

TEST_CASE("tell worker: a quiet one stays quiet, whatever it says at its next beat") {
  BrokerFixture fixture;
  using State = Worker::State;
  CHECK(fixture.broker.workers().add(fixture.client(), {.wid = "w"}, fixture.now));
  CHECK(fixture.broker.admin().order_worker("w", State::kQuiet, fixture.now).value() ==
        State::kQuiet);
  CHECK(fixture.broker.workers().beat("w", State::kRunning, 0, fixture.now).value() ==
        State::kQuiet);
  CHECK_FALSE(fixture.broker.admin().order_worker("nobody", State::kQuiet, fixture.now));
}

namespace {

Token token_named(const std::string& name, const std::string& user, Time expires_at) {
  static int drawn = 0;
  const std::string number = std::to_string(++drawn);
  return {.hash = number + std::string(kTokenHashBytes - number.size(), '-'),
          .name = name,
          .user = user,
          .queues = {"*"},
          .expires_at = expires_at};
}

}  // namespace

TEST_CASE("add token: a user has one of a name, unless that has expired") {
  BrokerFixture fixture;
  AdminOperations& admin = fixture.broker.admin();
  const Tokens& tokens = fixture.broker.view().tokens();
  const Time end = fixture.now + 1min;
  const Token first = token_named("ci", "ana", end);
  CHECK(admin.add_token(first, fixture.now));
  CHECK(admin.add_token(token_named("ci", "bob", end), fixture.now));
  const auto second = admin.add_token(token_named("ci", "ana", end), end - 1ns);
  REQUIRE_FALSE(second);
  CHECK(second.error() == Refusal::kNotUnique);
  CHECK(admin.add_token(token_named("ci", "ana", end + 1min), end));
  CHECK(tokens.find(first.hash) == nullptr);
  CHECK(tokens.count() == 2);
}

TEST_CASE("add token: a user, and all of them, have so many, and expired ones give way") {
  BrokerFixture fixture;
  AdminOperations& admin = fixture.broker.admin();
  const Time end = fixture.now + 1min;
  const auto add = [&](std::size_t number, Time now) {
    const std::string user = "user-" + std::to_string(number / kTokensOfUserMax);
    return admin.add_token(token_named(std::to_string(number), user, end), now);
  };
  for (std::size_t i = 0; i < kTokensMax; ++i) REQUIRE(add(i, fixture.now));
  CHECK(add(kTokensMax, fixture.now).error() == Refusal::kTooMany);
  CHECK(add(kTokensMax, end));
  CHECK(fixture.broker.view().tokens().count() == 1);
}

TEST_CASE("add token: one user has not the places of all") {
  BrokerFixture fixture;
  AdminOperations& admin = fixture.broker.admin();
  const Time end = fixture.now + 1min;
  for (std::size_t i = 0; i < kTokensOfUserMax; ++i) {
    REQUIRE(admin.add_token(token_named(std::to_string(i), "ana", end), fixture.now));
  }
  CHECK(admin.add_token(token_named("more", "ana", end), fixture.now).error() == Refusal::kTooMany);
  const Token of_bob = token_named("more", "bob", end);
  CHECK(admin.add_token(of_bob, fixture.now));
  CHECK(admin.remove_token(of_bob.hash));
  CHECK(admin.remove_token(of_bob.hash).error() == Refusal::kNotFound);
}

TEST_CASE("add token: while records must not grow, none is added, and one may be removed") {
  BrokerFixture fixture;
  AdminOperations& admin = fixture.broker.admin();
  const Token token = token_named("ci", "ana", fixture.now + 1min);
  CHECK(admin.add_token(token, fixture.now));
  fixture.broker.set_admission(Admission::kNoGrowth);
  const Token more = token_named("cd", "ana", fixture.now + 1min);
  CHECK(admin.add_token(more, fixture.now).error() == Refusal::kNoRoom);
  CHECK(admin.remove_token(token.hash));
}

}  // namespace millrace::test
