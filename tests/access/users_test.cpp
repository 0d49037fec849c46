#include "access/users.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace millrace::access {
namespace {

User mailer() {
  return {.name = "mail-app",
          .grants = {{.queues = {"mail*", "newsletter"}, .may = {Right::kPush}},
                     {.queues = {"mail-in"}, .may = {Right::kWork}}},
          .secrets = {"a secret of mail-app"},
          .web_passwords = {}};
}

SharedUsers users_of(std::vector<User> users) {
  return std::make_shared<const Users>(std::move(users));
}

Caller caller_of(const SharedUsers& users, std::string_view name) {
  const User* const user = users->find(name);
  REQUIRE(user != nullptr);
  return Caller(users, *user);
}

TEST_CASE("a user may do what its grants say, and nothing else") {
  const Caller caller = caller_of(users_of({mailer()}), "mail-app");
  CHECK(caller.may(Right::kPush, "mail"));
  CHECK(caller.may(Right::kPush, "mail-in"));
  CHECK(caller.may(Right::kPush, "newsletter"));
  CHECK_FALSE(caller.may(Right::kPush, "newsletters"));
  CHECK_FALSE(caller.may(Right::kPush, "Mail"));
  CHECK_FALSE(caller.may(Right::kPush, ""));
  CHECK(caller.may(Right::kWork, "mail-in"));
  CHECK_FALSE(caller.may(Right::kWork, "mail-out"));
  CHECK_FALSE(caller.may(Right::kView, "mail-in"));
  CHECK(caller.may_anywhere(Right::kWork));
  CHECK_FALSE(caller.may_anywhere(Right::kAdmin));
  CHECK_FALSE(caller.may_everywhere(Right::kPush));
  CHECK(caller.is_limited());
  CHECK(caller.name() == "mail-app");
}

TEST_CASE("a right is for everywhere by the pattern * alone") {
  const auto may_everywhere = [](std::vector<std::string> queues) {
    User user{.name = "ana", .grants = {{std::move(queues), Rights{Right::kView}}}};
    return caller_of(users_of({std::move(user)}), "ana").may_everywhere(Right::kView);
  };
  CHECK(may_everywhere({"*"}));
  CHECK(may_everywhere({"mail", "*"}));
  CHECK_FALSE(may_everywhere({"?*"}));
  CHECK_FALSE(may_everywhere({"[*]"}));
}

TEST_CASE("without users everybody may do everything, and nobody nothing") {
  const Caller anybody = Caller::everybody();
  const Caller nobody;
  CHECK(nobody.is_limited());
  CHECK_FALSE(anybody.is_limited());
  CHECK(anybody.name().empty());
  for (const auto& [name, right] : kRightNames) {
    CHECK(anybody.may(right, "mail"));
    CHECK(anybody.may_everywhere(right));
    CHECK(anybody.may_anywhere(right));
    CHECK_FALSE(nobody.may(right, "mail"));
    CHECK_FALSE(nobody.may_everywhere(right));
    CHECK_FALSE(nobody.may_anywhere(right));
    CHECK(right_of(name_of(right)) == right);
  }
  CHECK_FALSE(right_of("fly"));
}

TEST_CASE("what is known of queues stays right when a client names thousands") {
  const Caller caller = caller_of(users_of({mailer()}), "mail-app");
  for (int i = 0; i < 3000; ++i) {
    CHECK(caller.may(Right::kPush, "mail" + std::to_string(i % 700)));
    CHECK_FALSE(caller.may(Right::kPush, "other" + std::to_string(i % 700)));
  }
}

TEST_CASE("a caller knows whether its user has changed") {
  const Caller caller = caller_of(users_of({mailer()}), "mail-app");
  CHECK(caller.is_unchanged_in(users_of({mailer()})));
  CHECK_FALSE(caller.is_unchanged_in(nullptr));
  CHECK_FALSE(caller.is_unchanged_in(users_of({})));
  User fewer = mailer();
  fewer.grants.pop_back();
  CHECK_FALSE(caller.is_unchanged_in(users_of({fewer})));
  User other = mailer();
  other.secrets.insert(other.secrets.begin(), "another secret of mail-app");
  const SharedUsers users = users_of({mailer()});
  const User& user = *users->find("mail-app");
  const Caller by_secret(users, user, user.secrets.front());
  CHECK(by_secret.is_unchanged_in(users_of({other})));
  other.secrets.pop_back();
  CHECK_FALSE(by_secret.is_unchanged_in(users_of({other})));
  CHECK(caller.is_unchanged_in(users_of({other})));
  CHECK(Caller::everybody().is_unchanged_in(nullptr));
  CHECK_FALSE(Caller::everybody().is_unchanged_in(users_of({mailer()})));
}

TEST_CASE("the secrets of all users are known with whose they are") {
  User ana = mailer();
  ana.name = "ana";
  ana.secrets = {"first of ana's secrets", "second of ana's secrets"};
  const SharedUsers users = users_of({mailer(), ana});
  REQUIRE(users->secrets().size() == 3);
  CHECK(users->secrets()[0].user == users->find("mail-app"));
  CHECK(users->secrets()[2].user == users->find("ana"));
  CHECK(users->secrets()[2].text == "second of ana's secrets");
  CHECK(users->find("nobody") == nullptr);
}

TEST_CASE("with a token a caller may do what both its user and the token may") {
  const SharedUsers users = users_of({mailer()});
  Caller caller = caller_of(users, "mail-app");
  CHECK(caller.may(Right::kPush, "newsletter"));
  caller.limit({.queues = {"mail*", "shop"}, .may = {Right::kPush, Right::kView}});
  CHECK(caller.has_token());
  CHECK(caller.may(Right::kPush, "mail"));
  CHECK_FALSE(caller.may(Right::kPush, "newsletter"));
  CHECK_FALSE(caller.may(Right::kPush, "shop"));
  CHECK_FALSE(caller.may(Right::kView, "mail"));
  CHECK_FALSE(caller.may(Right::kWork, "mail-in"));
  CHECK(caller.may_anywhere(Right::kPush));
  CHECK_FALSE(caller.may_anywhere(Right::kWork));
  CHECK_FALSE(caller.may_anywhere(Right::kView));
  CHECK(caller.patterns(Right::kPush) == std::vector<std::string>{"mail*", "shop"});
  CHECK(caller.is_unchanged_in(users_of({mailer()})));
  const Caller copy = caller;
  CHECK_FALSE(copy.may(Right::kPush, "newsletter"));
}

TEST_CASE("with a token a caller may do everywhere what both may everywhere") {
  const User ana{.name = "ana", .grants = {{{"*"}, {Right::kView, Right::kOperate}}}};
  const SharedUsers users = users_of({ana});
  Caller of_all = caller_of(users, "ana");
  of_all.limit({.queues = {"*"}, .may = {Right::kView, Right::kAdmin}});
  CHECK(of_all.may_everywhere(Right::kView));
  CHECK_FALSE(of_all.may_everywhere(Right::kOperate));
  CHECK_FALSE(of_all.may_everywhere(Right::kAdmin));
  Caller of_mail = caller_of(users, "ana");
  of_mail.limit({.queues = {"mail*"}, .may = {Right::kView}});
  CHECK_FALSE(of_mail.may_everywhere(Right::kView));
  CHECK(of_mail.may(Right::kView, "mail"));
}

TEST_CASE("all queues of a pattern are within another one, or that is not certain") {
  const auto may_all = [](std::string mine, const std::string& pattern) {
    const User user{.name = "ana", .grants = {{{std::move(mine)}, {Right::kView}}}};
    return caller_of(users_of({user}), "ana").may_all_of(Right::kView, pattern);
  };
  CHECK(may_all("*", "[ab]?*"));
  CHECK(may_all("mail*", "mail*"));
  CHECK(may_all("mail*", "mail"));
  CHECK(may_all("mail*", "mail-?u*"));
  CHECK(may_all("[ab]c", "[ab]c"));
  CHECK_FALSE(may_all("mail*", "*"));
  CHECK_FALSE(may_all("mail*", "mai*"));
  CHECK_FALSE(may_all("mail*", "ma?l*"));
  CHECK_FALSE(may_all("mail?", "mail*"));
  CHECK_FALSE(may_all("mail[*]", "mail*"));
  CHECK_FALSE(may_all("*]x", "[ab]x"));
  CHECK_FALSE(may_all("a\\*", "a\\*b"));
  const SharedUsers users = users_of({mailer()});
  CHECK(caller_of(users, "mail-app").may_all_of(Right::kPush, "newsletter"));
  CHECK_FALSE(caller_of(users, "mail-app").may_all_of(Right::kView, "newsletter"));
}

}  // namespace
}  // namespace millrace::access
