#include <cctype>
#include <charconv>
#include <memory>
#include <string>

#include "faktory/job/work_unit.hpp"
#include "faktory/service.hpp"
#include "faktory/session/auth.hpp"
#include "faktory/session/login_guard.hpp"
#include "faktory/session/session.hpp"
#include "faktory/session/talking.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

InMemoryServer::Options with_password(const std::string& password) {
  InMemoryServer::Options options;
  options.faktory.password = password;
  return options;
}

/// What the greeting asks for.
Challenge challenge_in(const std::string& hi) {
  Challenge challenge;
  const std::size_t iterations_at = hi.find("\"i\":") + 4;
  std::from_chars(hi.data() + iterations_at, hi.data() + hi.size(), challenge.iterations);
  const std::size_t salt_at = hi.find("\"s\":\"") + 5;
  challenge.salt = hi.substr(salt_at, hi.find('"', salt_at) - salt_at);
  return challenge;
}

Challenge greeting(InMemoryServer& server, const std::string& name) {
  server.connect(name, Protocol::kFaktory);
  return challenge_in(server.take_output(name));
}

std::string hello(const std::string& version, const std::string& hash) {
  return "HELLO {" + version + "\"pwdhash\":\"" + hash + "\"}\r\n";
}

/// So many clients `wrong0`, `wrong1`, ..., each with a wrong password.
void try_wrong(InMemoryServer& server, int count) {
  for (int i = 0; i < count; ++i) {
    const std::string name = "wrong" + std::to_string(i);
    greeting(server, name);
    server.send(name, hello("", "x"));
  }
}

/// How many of them have got their answer since the last call.
int count_answered(InMemoryServer& server, int count) {
  int answered = 0;
  for (int i = 0; i < count; ++i) {
    if (!server.take_output("wrong" + std::to_string(i)).empty()) ++answered;
  }
  return answered;
}

const WorkUnits& test_format() {
  static const WorkUnits format;
  return format;
}

/// Two clients of two addresses have sent a wrong password, and wait for its check.
struct TwoLogins {
  TwoLogins() {
    for (Session* session : {first.get(), second.get()}) {
      session->start(Time{});
      session->receive("HELLO {\"v\":2,\"pwdhash\":\"x\"}\n", Time{});
    }
  }

  static Settings settings() {
    Settings settings;
    settings.password = "secret";
    settings.random = [] { return 4095; };
    return settings;
  }

  Ledger ledger;
  Broker broker{ledger, test_format(), {}};
  Service service{broker, test_format(), settings(), Time{}};
  std::unique_ptr<Session> first = service.open("a");
  std::unique_ptr<Session> second = service.open("b");
};

}  // namespace

TEST_CASE("password: the right one") {
  InMemoryServer server(with_password("secret"));
  const Challenge challenge = greeting(server, "a");
  CHECK(challenge.iterations >= 4000);
  CHECK(server.ask("a", hello("\"v\":2,", password_hash("secret", challenge))) == "+OK\r\n");
}

TEST_CASE("password: each connection has its own challenge") {
  InMemoryServer server(with_password("secret"));
  CHECK(greeting(server, "a").salt != greeting(server, "b").salt);
}

TEST_CASE("password: the wrong one") {
  InMemoryServer server(with_password("secret"));
  const Challenge challenge = greeting(server, "a");
  CHECK(server.ask("a", hello("\"v\":2,", password_hash("Secret", challenge))) ==
        "-ERR Invalid password\r\n");
  CHECK_FALSE(server.is_open("a"));
}

TEST_CASE("password: the hash is compared as text") {
  InMemoryServer server(with_password("secret"));
  std::string hash = password_hash("secret", greeting(server, "a"));
  for (char& c : hash) c = static_cast<char>(std::toupper(c));
  CHECK(server.ask("a", hello("\"v\":2,", hash)) == "-ERR Invalid password\r\n");
}

TEST_CASE("password: before version 2 it is hashed once") {
  InMemoryServer server(with_password("secret"));
  Challenge challenge = greeting(server, "a");
  challenge.iterations = 1;
  CHECK(server.ask("a", hello("", password_hash("secret", challenge))) == "+OK\r\n");
  challenge = greeting(server, "b");
  challenge.iterations = 1;
  CHECK(server.ask("b", hello("\"v\":1,", password_hash("secret", challenge))) == "+OK\r\n");
  challenge = greeting(server, "c");
  challenge.iterations = 1;
  CHECK(server.ask("c", hello("\"v\":2,", password_hash("secret", challenge))) ==
        "-ERR Invalid password\r\n");
}

TEST_CASE("password: without one a hash means nothing") {
  InMemoryServer server;
  server.connect("a", Protocol::kFaktory);
  CHECK(server.take_output("a") == kHi);
  CHECK(server.ask("a", hello("\"v\":2,", "junk")) == "+OK\r\n");
}

TEST_CASE_FIXTURE(TwoLogins, "password: a hash is made piece by piece, one client at a time") {
  int turns = 1;
  for (; first->wants_resume() && !first->wants_close(); ++turns) first->resume(Time{});
  CHECK(turns == 16);
  CHECK_FALSE(second->wants_close());
  for (; second->wants_resume() && !second->wants_close(); ++turns) second->resume(Time{});
  CHECK(turns == 32);
}

TEST_CASE_FIXTURE(TwoLogins, "password: a client that leaves during the check delays nobody") {
  first->close(Time{});
  while (second->wants_resume()) second->resume(Time{});
  CHECK(contains(second->output(), "-ERR Invalid password"));
}

TEST_CASE("password: of many tries at once a few are looked at, the others wait") {
  InMemoryServer server(with_password("secret"));
  try_wrong(server, 200);
  CHECK(count_answered(server, 200) == kFreeFailures + 1);
  server.advance(kTurnPause - 1ms);
  CHECK(count_answered(server, 200) == 0);
  server.advance(9 * kTurnPause);
  const int answered = count_answered(server, 200);
  CHECK(answered > 50);
  CHECK(answered < 110);
  server.advance(kTurnWaitMax);
  CHECK(count_answered(server, 200) == 196 - answered);
}

TEST_CASE("password: the right one gets in while others of the address try wrong ones") {
  InMemoryServer server(with_password("secret"));
  try_wrong(server, 900);
  const Challenge challenge = greeting(server, "right");
  server.send("right", hello("\"v\":2,", password_hash("secret", challenge)));
  server.advance(kTurnPause);
  CHECK(server.take_output("right").empty());
  server.advance(kTurnWaitMax);
  CHECK(server.take_output("right") == "+OK\r\n");
}

TEST_CASE("password: many right ones are not slowed down") {
  InMemoryServer server(with_password("secret"));
  for (int i = 0; i < 50; ++i) {
    const std::string name = "right" + std::to_string(i);
    const Challenge challenge = greeting(server, name);
    CHECK(server.ask(name, hello("", password_hash("secret", {1, challenge.salt}))) == "+OK\r\n");
  }
}

TEST_CASE("password: a client that waits longer than a handshake may is not refused") {
  InMemoryServer server(with_password("secret"));
  try_wrong(server, 4 + 900);
  server.advance(kHandshakeLimit + 500ms);
  CHECK(server.is_open("wrong903"));
  server.advance(kTurnWaitMax);
  CHECK(server.take_output("wrong903") == "-ERR Invalid password\r\n");
}

TEST_CASE("password: when too many wait, one more is refused until one leaves") {
  InMemoryServer server(with_password("secret"));
  try_wrong(server, static_cast<int>(kFreeFailures + 1 + kWaitingOfPeerMax));
  const Challenge challenge = greeting(server, "late");
  CHECK(server.ask("late", hello("", "x")).empty());
  CHECK_FALSE(server.is_open("late"));
  server.close("wrong500");
  greeting(server, "later");
  CHECK(server.ask("later", hello("", "x")).empty());
  CHECK(server.is_open("later"));
}

}  // namespace millrace::faktory
