#include "http/routes/tokens.hpp"

#include <string>
#include <utility>

#include "http/web_fixture.hpp"
#include "support/doctest.hpp"
#include "support/users.hpp"

namespace millrace::http {
namespace {

using access::Right;

/// Users with tokens.
class TokenFixture {
 public:
  Response ask(const access::Caller& caller, Request request, const Json& body = {}) {
    request.caller = caller;
    request.identified_by = caller.has_token() ? "token" : "password";
    if (!body.is_null()) request.body = body.dump();
    return web.ask_all(std::move(request));
  }
  Response make(const access::Caller& caller, const Json& changes = Json::object()) {
    Json body = {{"name", "ci"}, {"may", {"view"}}, {"queues", {"mail-*"}}, {"expires_s", 3600}};
    for (const auto& [name, value] : changes.items()) body[name] = value;
    return ask(caller, request_of("POST", "/api/v1/tokens"), body);
  }
  Json made(const access::Caller& caller, const Json& changes = Json::object()) {
    const Response response = make(caller, changes);
    REQUIRE_MESSAGE(response.status == 201, response.body);
    return Json::parse(response.body);
  }
  Json list(const access::Caller& caller) {
    const Response response = ask(caller, request_of("GET", "/api/v1/tokens"));
    REQUIRE_MESSAGE(response.status == 200, response.body);
    return Json::parse(response.body)["tokens"];
  }
  Response revoke(const access::Caller& caller, const std::string& id) {
    return ask(caller, request_of("POST", "/api/v1/tokens/" + id + "/delete"));
  }
  [[nodiscard]] const Change& last_change() const {
    const AuditLog& log = web.broker.view().audit_log();
    return *log.find(log.end() - 1);
  }

  WebFixture web;
  access::SharedUsers users =
      test::users_of({test::user_of_mail("ana", {Right::kView, Right::kPush}),
                      test::user_of_mail("bob", {Right::kView}),
                      test::user_of_all("root", {Right::kView, Right::kAdmin})});
  access::Caller ana = test::caller_of(users, "ana");
  access::Caller bob = test::caller_of(users, "bob");
  access::Caller root = test::caller_of(users, "root");
};

}  // namespace

TEST_CASE("tokens: a new one shows its text once, and what it may") {
  TokenFixture fixture;
  const Json made = fixture.made(fixture.ana);
  CHECK(made["token"] == "mrt_a");
  CHECK(made["id"] == "616161616161");
  CHECK(made["user"] == "ana");
  CHECK(made["may"] == Json({"view"}));
  CHECK(made["queues"] == Json({"mail-*"}));
  CHECK(made["made_at"] == "2023-11-14T22:13:20.000Z");
  CHECK(made["expires_at"] == "2023-11-14T23:13:20.000Z");
  const Json listed = fixture.list(fixture.ana);
  REQUIRE(listed.size() == 1);
  CHECK_FALSE(listed[0].contains("token"));
  CHECK(listed[0]["name"] == "ci");
  CHECK(listed[0]["has_expired"] == false);
  CHECK(listed[0]["last_used_at"].is_null());
}

TEST_CASE("tokens: users see and revoke their own, administrators all") {
  TokenFixture fixture;
  const std::string of_ana = fixture.made(fixture.ana)["id"];
  const std::string of_bob = fixture.made(fixture.bob)["id"];
  CHECK(fixture.list(fixture.ana).size() == 1);
  CHECK(fixture.list(fixture.root).size() == 2);
  CHECK(fixture.revoke(fixture.ana, of_bob).status == 404);
  CHECK(fixture.revoke(fixture.ana, "000000000000").status == 404);
  CHECK(fixture.revoke(fixture.ana, of_ana).status == 200);
  CHECK(fixture.revoke(fixture.ana, of_ana).status == 404);
  CHECK(fixture.revoke(fixture.root, of_bob).status == 200);
  CHECK(fixture.list(fixture.root).empty());
}

TEST_CASE("tokens: with a token none is listed, made or revoked") {
  TokenFixture fixture;
  const std::string id = fixture.made(fixture.root)["id"];
  access::Caller token = fixture.root;
  token.limit({.queues = {"*"}, .may = {Right::kView, Right::kAdmin}});
  CHECK(fixture.make(token, {{"name", "more"}}).status == 403);
  CHECK(fixture.revoke(token, id).status == 403);
  const Response listed = fixture.ask(token, request_of("GET", "/api/v1/tokens"));
  CHECK(listed.status == 403);
  CHECK(listed.body.find("a token cannot list, make or revoke tokens") != std::string::npos);
}

TEST_CASE("tokens: without users there are none") {
  TokenFixture fixture;
  const Response response = fixture.make(access::Caller::everybody());
  CHECK(response.status == 409);
  CHECK(response.body.find("--users") != std::string::npos);
}

TEST_CASE("tokens: one has no right that its maker lacks") {
  TokenFixture fixture;
  CHECK(fixture.make(fixture.ana, {{"may", {"view", "push"}}}).status == 201);
  const Response more = fixture.make(fixture.ana, {{"name", "b"}, {"may", {"view", "operate"}}});
  CHECK(more.status == 403);
  CHECK(more.body.find("ana lacks the right operate for mail-*") != std::string::npos);
  const Response all = fixture.make(fixture.ana, {{"name", "b"}, {"queues", {"mail-a", "*"}}});
  CHECK(all.status == 403);
  CHECK(all.body.find("ana lacks the right view for all queues") != std::string::npos);
}

TEST_CASE("tokens: members that make no sense are refused") {
  TokenFixture fixture;
  const auto status = [&](const Json& changes) {
    return fixture.make(fixture.ana, changes).status;
  };
  CHECK(status({{"name", ""}}) == 400);
  CHECK(status({{"name", "  "}}) == 400);
  CHECK(status({{"name", "a\nb"}}) == 400);
  CHECK(status({{"name", std::string(kTokenNameBytesMax + 1, 'n')}}) == 400);
  CHECK(status({{"name", 7}}) == 400);
  CHECK(status({{"may", "view"}}) == 400);
  CHECK(status({{"may", Json::array()}}) == 400);
  CHECK(status({{"may", {"rule"}}}) == 400);
  CHECK(status({{"may", {1}}}) == 400);
  CHECK(status({{"queues", Json::array()}}) == 400);
  CHECK(status({{"queues", {""}}}) == 400);
  CHECK(status({{"queues", {"a*b*c*"}}}) == 400);
  CHECK(status({{"queues", {std::string(201, 'q')}}}) == 400);
  CHECK(status({{"queues", std::vector<std::string>(kTokenQueuesMax + 1, "mail")}}) == 400);
  CHECK(status({{"expires_s", 59}}) == 400);
  CHECK(status({{"expires_s", 366 * 24 * 3600 + 1}}) == 400);
  CHECK(status({{"expires_s", "1d"}}) == 400);
  CHECK(status({{"more", 1}}) == 400);
  CHECK(fixture.list(fixture.ana).empty());
  CHECK(status({{"name", std::string(kTokenNameBytesMax, 'n')}}) == 201);
  CHECK(status({{"expires_s", 60}}) == 201);
}

TEST_CASE("tokens: a name that the user has is refused, with what to do") {
  TokenFixture fixture;
  fixture.made(fixture.ana);
  const Response again = fixture.make(fixture.ana);
  CHECK(again.status == 409);
  CHECK(again.body.find("choose another name") != std::string::npos);
}

TEST_CASE("tokens: one counts until it expires or is revoked, and its last use is shown") {
  TokenFixture fixture;
  const Json made = fixture.made(fixture.ana);
  const std::string hash(kTokenHashBytes, 'a');
  fixture.web.now += 30min;
  const Token* const token = use_token(fixture.web.site, hash, fixture.web.now);
  REQUIRE(token != nullptr);
  CHECK(grant_of(*token) == access::Grant{.queues = {"mail-*"}, .may = {Right::kView}});
  CHECK(fixture.list(fixture.ana)[0]["last_used_at"] == "2023-11-14T22:43:20.000Z");
  CHECK(use_token(fixture.web.site, std::string(kTokenHashBytes, 'b'), fixture.web.now) == nullptr);
  CHECK(use_token(fixture.web.site, hash, fixture.web.now + 30min - 1ms) != nullptr);
  CHECK(use_token(fixture.web.site, hash, fixture.web.now + 30min) == nullptr);
  CHECK(fixture.revoke(fixture.ana, made["id"]).status == 200);
  CHECK(use_token(fixture.web.site, hash, fixture.web.now) == nullptr);
}

TEST_CASE("tokens: the audit log has who made and revoked one, and not its text") {
  TokenFixture fixture;
  const Json made = fixture.made(fixture.ana);
  CHECK(fixture.last_change().action == "tokens/create");
  CHECK(fixture.last_change().target == made["id"]);
  CHECK(fixture.last_change().user == "ana");
  CHECK(fixture.last_change().details ==
        "ci: may view; until 2023-11-14T23:13:20.000Z; queues mail-*");
  CHECK(fixture.revoke(fixture.root, made["id"]).status == 200);
  CHECK(fixture.last_change().action == "tokens/delete");
  CHECK(fixture.last_change().target == made["id"]);
  CHECK(fixture.last_change().details == "ci of ana");
  CHECK(fixture.last_change().user == "root");
}

}  // namespace millrace::http
