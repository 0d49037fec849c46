#include "server/web/web_sessions.hpp"

#include <set>

#include "core/model/features/token.hpp"
#include "support/doctest.hpp"
#include "support/users.hpp"

namespace millrace::server {
namespace {

using access::Right;
using Moment = WebSessions::Moment;

constexpr Moment kStart = Moment(std::chrono::hours(1));
constexpr auto kMoment = std::chrono::milliseconds(1);

access::SharedUsers some_users() {
  return test::users_of({test::user_of_all("ana", {Right::kView}),
                         test::user_of_all("bob", {Right::kView, Right::kOperate})});
}

struct Fixture {
  access::SharedUsers users = some_users();
  WebSessions sessions{users};

  std::string begin(const char* name, Moment now = kStart) {
    return sessions.begin(*users->find(name), now);
  }
  std::string who(const std::string& id, Moment now = kStart) {
    const auto caller = sessions.find(id, now);
    return caller ? std::string(caller->name()) : "nobody";
  }
};

}  // namespace

TEST_CASE("web secret: a token has the form of one, and its hash is not its text") {
  const http::NewSecret token = draw_token();
  CHECK(http::is_token_text(token.text));
  CHECK(token.hash == digest_of_secret(token.text));
  CHECK(token.hash.size() == kTokenHashBytes);
  CHECK(draw_token().text != token.text);
}

TEST_CASE("web secret: it is 43 characters of an address, and never the same") {
  std::set<std::string> all;
  for (int i = 0; i < 100; ++i) all.insert(random_secret());
  CHECK(all.size() == 100);
  CHECK(all.begin()->size() == 43);
  CHECK(all.begin()->find_first_of("+/=") == std::string::npos);
  CHECK(digest_of_secret("a") == digest_of_secret("a"));
  CHECK(digest_of_secret("a") != digest_of_secret("b"));
}

TEST_CASE_FIXTURE(Fixture, "web sessions: an id is known, and no other") {
  const std::string id = begin("ana");
  CHECK(who(id) == "ana");
  CHECK(who(begin("bob")) == "bob");
  CHECK(who(id.substr(1)) == "nobody");
  CHECK(who("") == "nobody");
  WebSessions other(users);
  CHECK_FALSE(other.find(id, kStart).has_value());
}

TEST_CASE_FIXTURE(Fixture, "web sessions: one that is idle for too long has ended") {
  const std::string id = begin("ana");
  const Moment used = kStart + WebSessions::kIdleMax - kMoment;
  CHECK(who(id, used) == "ana");
  CHECK(who(id, used + WebSessions::kIdleMax - kMoment) == "ana");
  const std::string other = begin("ana");
  CHECK(who(other, kStart + WebSessions::kIdleMax) == "nobody");
  CHECK(who(other, kStart) == "nobody");
}

TEST_CASE_FIXTURE(Fixture, "web sessions: one in use ends after hours") {
  const std::string id = begin("ana");
  const Moment end = kStart + WebSessions::kLengthMax;
  for (Moment now = kStart; now < end; now += std::chrono::minutes(10))
    CHECK(who(id, now) == "ana");
  CHECK(who(id, end - kMoment) == "ana");
  CHECK(who(id, end) == "nobody");
}

TEST_CASE_FIXTURE(Fixture, "web sessions: of too many of a user, the one idle longest ends") {
  const std::string first = begin("ana");
  const std::string second = begin("ana", kStart + kMoment);
  const std::string bob = begin("bob");
  for (std::size_t i = 2; i < WebSessions::kOfUserMax; ++i)
    (void)begin("ana", kStart + 2 * kMoment);
  CHECK(who(first, kStart + 3 * kMoment) == "ana");
  (void)begin("ana", kStart + 4 * kMoment);
  CHECK(who(second) == "nobody");
  CHECK(who(first) == "ana");
  CHECK(who(bob) == "bob");
  CHECK(sessions.size() == WebSessions::kOfUserMax + 1);
}

TEST_CASE_FIXTURE(Fixture, "web sessions: those that have ended make room") {
  for (std::size_t i = 0; i < WebSessions::kOfUserMax; ++i) (void)begin("ana");
  (void)begin("bob", kStart + WebSessions::kIdleMax);
  CHECK(sessions.size() == 1);
}

TEST_CASE("web sessions: there are not more than some, of all users") {
  std::vector<access::User> many;
  const std::size_t count = WebSessions::kMax / WebSessions::kOfUserMax + 1;
  for (std::size_t i = 0; i < count; ++i) {
    many.push_back(test::user_of_all("user-" + std::to_string(i), {}));
  }
  const access::SharedUsers users = test::users_of(std::move(many));
  WebSessions sessions(users);
  const std::string first = sessions.begin(*users->find("user-0"), kStart - kMoment);
  for (const access::User& user : users->all()) {
    for (std::size_t i = 0; i < WebSessions::kOfUserMax; ++i) (void)sessions.begin(user, kStart);
  }
  CHECK(sessions.size() == WebSessions::kMax);
  CHECK_FALSE(sessions.find(first, kStart).has_value());
}

TEST_CASE_FIXTURE(Fixture, "web sessions: a reload ends those of users that have changed") {
  const std::string ana = begin("ana");
  const std::string bob = begin("bob");
  const auto with = [](access::User changed) {
    return test::users_of({std::move(changed), some_users()->all()[1]});
  };
  sessions.set(some_users());
  CHECK(who(ana) == "ana");
  SUBCASE("rights") {
    sessions.set(with(test::user_of_all("ana", {Right::kPush})));
  }
  SUBCASE("passwords") {
    access::User changed = some_users()->all()[0];
    changed.web_passwords = {"$argon2id$other"};
    sessions.set(with(std::move(changed)));
  }
  SUBCASE("gone") {
    sessions.set(test::users_of({some_users()->all()[1]}));
  }
  CHECK(who(ana) == "nobody");
  CHECK(who(bob) == "bob");
  sessions.set(some_users());
  CHECK(who(ana) == "nobody");
}

TEST_CASE_FIXTURE(Fixture, "web sessions: an ended one is gone") {
  const std::string id = begin("ana");
  sessions.end("another");
  CHECK(who(id) == "ana");
  sessions.end(id);
  CHECK(who(id) == "nobody");
}

}  // namespace millrace::server
