#include "http/kit/guard.hpp"

#include "http/web_fixture.hpp"
#include "support/doctest.hpp"
#include "support/users.hpp"

namespace millrace::http {
namespace {

/// As a request without users goes through.
std::optional<Response> checked(const Request& request, const GuardSettings& settings) {
  return check(request, settings, login_of(request, settings));
}

int status_of(const Request& request, const GuardSettings& settings = {}) {
  const auto refused = checked(request, settings);
  return refused ? refused->status : 200;
}

Request with(Request request, const std::string& name, const std::string& value) {
  request.headers[name] = value;
  return request;
}

}  // namespace

TEST_CASE("guard: where there are users, a right login has a caller") {
  const GuardSettings settings{.users = test::users_of({test::user_of_all("ana", {})})};
  Request request = with(request_of("GET", "/"), "accept", "text/html");
  CHECK(check(request, settings, Login::kNone)->status == 401);
  CHECK(check(request, settings, Login::kWrong)->status == 401);
  CHECK(check(request, settings, Login::kRight)->status == 401);
  CHECK(check(request, settings, Login::kWrong)->body.find("your user name") != std::string::npos);
  request.caller = test::caller_of(settings.users, "ana");
  CHECK_FALSE(check(request, settings, Login::kRight).has_value());
  CHECK(check(request, settings, Login::kNone)->status == 401);
}

TEST_CASE("guard: where there are users, a page of ours leads a browser to the form") {
  const GuardSettings settings{.users = test::users_of({test::user_of_all("ana", {})})};
  Request page = with(request_of("GET", "/queues/mail?state=dead"), "accept", "text/html");
  page.prefix = "/mill";
  const Response refused = check(page, settings, Login::kNone).value();
  CHECK(refused.status == 401);
  CHECK_FALSE(refused.headers.contains("WWW-Authenticate"));
  CHECK(refused.body.find("content=\"0; url=/mill/login?to=%2Fqueues%2Fmail%3Fstate%3Ddead\"") !=
        std::string::npos);

  Request form = with(request_of("GET", "/login"), "accept", "text/html");
  form.params = {{"to", "/a\"><script>"}};
  Response shown = check(form, settings, Login::kNone).value();
  CHECK(shown.status == 200);
  // A script keeps the fragment of the address, and is there before the login.
  for (const Response& each : {refused, shown}) {
    CHECK(each.body.find("/assets/login.js\"></script>") != std::string::npos);
  }
  CHECK_FALSE(check(request_of("GET", "/assets/login.js"), settings, Login::kNone).has_value());
  CHECK(shown.body.find("action=\"/login?to=%2Fa%22%3E%3Cscript%3E\"") != std::string::npos);
  harden(shown);
  CHECK(shown.headers.at("Content-Security-Policy").find("form-action 'self';") !=
        std::string::npos);
  // A program is told by the status, and how to log in.
  CHECK(
      check(request_of("GET", "/"), settings, Login::kNone)->headers.contains("WWW-Authenticate"));
}

TEST_CASE("guard: the form to log in comes from our own page") {
  const GuardSettings settings{.users = test::users_of({test::user_of_all("ana", {})})};
  const Request form =
      with(request_of("POST", "/login"), "content-type", "application/x-www-form-urlencoded");
  const auto status = [&](const Request& request, Login login = Login::kNone) {
    const auto refused = check(request, settings, login);
    return refused ? refused->status : 200;
  };
  CHECK(status(form) == 200);
  CHECK(status(with(form, "sec-fetch-site", "same-origin")) == 200);
  CHECK(status(with(form, "sec-fetch-site", "same-site")) == 403);
  CHECK(status(with(form, "sec-fetch-site", "cross-site")) == 403);
  CHECK(status(with(form, "origin", "http://evil.example")) == 403);
  CHECK(status(with(form, "origin", "null")) == 403);
  CHECK(status(with(form, "content-type", "text/plain")) == 415);
  CHECK(status(with(form, "content-encoding", "gzip")) == 415);
  CHECK(status(form, Login::kTooMany) == 503);
  CHECK(status(form, Login::kWrong) == 401);
  CHECK(check(form, {.password = "secret"}, Login::kNone)->status == 401);
}

TEST_CASE("guard: a user whom the proxy alone knows is told so") {
  const GuardSettings settings{.users = test::users_of({test::user_of_all("ana", {})})};
  CHECK(check(request_of("GET", "/"), settings, Login::kNoUser)->status == 403);
  CHECK_FALSE(check(request_of("GET", "/health"), settings, Login::kNoUser).has_value());
}

TEST_CASE("guard: whoever is logged in may log out, on a read-only port too") {
  GuardSettings settings{.users = test::users_of({test::user_of_all("ana", {})})};
  Request logout = request_of("POST", "/logout");
  CHECK(check(logout, settings, Login::kNone)->status == 401);
  logout.caller = test::caller_of(settings.users, "ana");
  settings.is_read_only = true;
  CHECK_FALSE(check(logout, settings, Login::kRight).has_value());
  CHECK(check(with(logout, "sec-fetch-site", "cross-site"), settings, Login::kRight)->status ==
        403);
  Request other = request_of("POST", "/logout/x");
  other.caller = logout.caller;
  CHECK(check(other, settings, Login::kRight)->status == 403);
}

TEST_CASE("guard: a token has its form, and comes in one header alone") {
  const std::string token = "mrt_" + std::string(43, 'a');
  const Request plain = request_of("GET", "/?access_token=" + token);
  CHECK_FALSE(bearer_of(plain).has_value());
  CHECK_FALSE(bearer_of(with(plain, "cookie", "token=" + token)).has_value());
  CHECK_FALSE(bearer_of(with(plain, "authorization", token)).has_value());
  CHECK_FALSE(bearer_of(with(plain, "authorization", "Basic " + token)).has_value());
  CHECK(bearer_of(with(plain, "authorization", "bEARER  " + token + " ")) == token);
  CHECK(bearer_of(with(plain, "authorization", "Bearer")) == "");
  CHECK(is_token_text(token));
  for (std::size_t end = 0; end < token.size(); ++end)
    CHECK_FALSE(is_token_text(token.substr(0, end)));
  CHECK_FALSE(is_token_text(token + "a"));
  CHECK_FALSE(is_token_text(token.substr(0, 46) + "="));
  CHECK_FALSE(is_token_text("MRT_" + token.substr(4)));
}

TEST_CASE("guard: a program is told what is wrong with its token, and gets no page") {
  const std::string token = "Bearer mrt_" + std::string(43, 'a');
  const Request request =
      with(with(request_of("GET", "/"), "authorization", token), "accept", "text/html");
  const GuardSettings settings{.users = test::users_of({test::user_of_all("ana", {})})};
  const Response wrong = check(request, settings, Login::kWrong).value();
  CHECK(wrong.status == 401);
  CHECK(wrong.body == R"({"error":"the token is unknown, has expired or was revoked"})");
  CHECK(wrong.headers.at("WWW-Authenticate").starts_with("Bearer "));
  const Response unknown = check(request, settings, Login::kTooMany).value();
  CHECK(unknown.status == 503);
  CHECK(unknown.body.find("tokens cannot be checked now") != std::string::npos);
  const Response no_users = checked(request, {.password = "secret"}).value();
  CHECK(no_users.status == 401);
  CHECK(no_users.body.find("no users file, so no tokens") != std::string::npos);
}

TEST_CASE("guard: a browser that knows no password shows a way to log in") {
  const Request page = with(request_of("GET", "/jobs"), "accept", "text/html,*/*;q=0.8");
  const Response refused = checked(page, {.password = "secret"}).value();
  CHECK(refused.status == 401);
  CHECK(refused.headers.contains("WWW-Authenticate"));
  CHECK(refused.type == "text/html; charset=utf-8");
  CHECK(refused.body.find("<a href=\"\">Log in</a>") != std::string::npos);
  CHECK(refused.body.find("<h1>A password is needed</h1>") != std::string::npos);
}

TEST_CASE("guard: a browser with a wrong password is told that it is wrong, in the style of all") {
  Request page = with(request_of("GET", "/jobs"), "accept", "text/html");
  page.prefix = "/mill";
  const GuardSettings settings{.password = "secret"};
  const Response refused =
      checked(with(page, "authorization", "Basic OnNlY3JldHM="), settings).value();
  CHECK(refused.body.find("<h1>The password is wrong</h1>") != std::string::npos);
  CHECK(refused.body.find("href=\"/mill/assets/style.css\"") != std::string::npos);
  CHECK(status_of(request_of("GET", "/assets/style.css"), settings) == 200);
  CHECK(status_of(request_of("GET", "/assets/icon.svg"), settings) == 200);
  CHECK(status_of(request_of("POST", "/assets/icon.svg"), settings) == 401);
  CHECK(status_of(request_of("GET", "/assets/app.js"), settings) == 401);
}

TEST_CASE("guard: the password for a page in a folder is asked for at the top") {
  const GuardSettings settings{.password = "secret"};
  Request page = with(request_of("GET", "/queues/a%2Fb?state=dead"), "accept", "text/html");
  page.path = "/queues/a/b";
  page.prefix = "/mill";
  const Response login = checked(page, settings).value();
  CHECK(login.status == 307);
  CHECK(login.headers.at("Location") == "/mill/login?to=%2Fqueues%2Fa%252Fb%3Fstate%3Ddead");
  // A program is told at once.
  CHECK(status_of(request_of("GET", "/queues/mail"), settings) == 401);
  CHECK(status_of(with(page, "x-requested-with", "millrace"), settings) == 401);
  CHECK(status_of(with(page, "authorization", "Basic OndB"), settings) == 401);

  Request back = with(request_of("GET", "/login"), "accept", "text/html");
  back.prefix = "/mill";
  CHECK(status_of(back, settings) == 401);
  back.headers["authorization"] = "Basic OnNlY3JldA==";
  CHECK(checked(back, settings)->headers.at("Location") == "/mill/");
  const auto target_with = [&](const std::string& to) {
    back.params = {{"to", to}};
    return checked(back, settings)->headers.at("Location");
  };
  CHECK(target_with("/queues/a%2Fb?state=dead") == "/mill/queues/a%2Fb?state=dead");
  back.prefix = "";
  for (const char* foreign : {"//evil.example", "/\\evil.example", "https://evil.example", "evil",
                              "/a\r\nSet-Cookie: a=b", "/\xc3\xa4"}) {
    CAPTURE(foreign);
    CHECK(target_with(foreign) == "/");
  }
}

TEST_CASE("guard: a script of a page is refused without the browser's dialog") {
  const Request request =
      with(request_of("GET", "/api/v1/overview"), "x-requested-with", "millrace");
  const Response refused = checked(request, {.password = "secret"}).value();
  CHECK(refused.status == 401);
  CHECK_FALSE(refused.headers.contains("WWW-Authenticate"));
}

TEST_CASE("guard: the password counts, the user name does not") {
  const GuardSettings settings{.password = "secret"};
  const Request request = request_of("GET", "/api/v1/overview");
  const Response refused = checked(request, settings).value();
  CHECK(refused.status == 401);
  CHECK(refused.headers.at("WWW-Authenticate") == "Basic realm=\"Millrace\", charset=\"UTF-8\"");
  CHECK(refused.body == R"({"error":"a password is needed"})");
  CHECK(status_of(with(request, "authorization", "Basic YW55OnNlY3JldA=="), settings) == 200);
  CHECK(status_of(with(request, "authorization", "basic OnNlY3JldA=="), settings) == 200);
  CHECK(status_of(with(request, "authorization", "Basic YW55OnNlY3JldHM="), settings) == 401);
  const Request wrong = with(request, "authorization", "Basic !!!");
  CHECK(checked(wrong, settings)->body == R"({"error":"the password is wrong"})");
  CHECK(status_of(with(request, "authorization", "Bearer secret"), settings) == 401);
}

TEST_CASE("guard: a request without a password is no try of one") {
  const GuardSettings settings{.password = "secret"};
  const Request request = request_of("GET", "/");
  CHECK(login_of(request, settings) == Login::kNone);
  CHECK(login_of(with(request, "authorization", "Basic OnNlY3JldA=="), settings) == Login::kRight);
  CHECK(login_of(with(request, "authorization", "Basic OnNlY3JldHM="), settings) == Login::kWrong);
  CHECK(login_of(with(request, "authorization", "Bearer secret"), settings) == Login::kWrong);
  CHECK(login_of(with(request, "authorization", "Basic OnNlY3JldHM="), {}) == Login::kNone);
}

TEST_CASE("guard: without a password a name that could be turned to us is refused") {
  const GuardSettings settings{.hosts = {"jobs.example"}};
  const Request request = request_of("GET", "/api/v1/overview");
  CHECK(status_of(with(request, "host", "evil.example:7420"), settings) == 403);
  CHECK(status_of(with(request, "host", "Jobs.Example.:7420"), settings) == 200);
  CHECK(status_of(with(request, "host", "sub.jobs.example"), settings) == 403);
  CHECK(status_of(request, settings) == 200);
}

TEST_CASE("guard: the answer to a foreign name says where it is to be added") {
  const Request request = with(request_of("GET", "/"), "host", "jobs.example");
  CHECK(checked(request, {})->body ==
        R"({"error":"this Host name is not accepted: add it to --web-host"})");
  CHECK(checked(request, {.hosts_option = "MY_HOST"})->body ==
        R"({"error":"this Host name is not accepted: add it to MY_HOST"})");
}

TEST_CASE("guard: where no names are asked for, all are accepted, and other sites still refused") {
  const GuardSettings settings{.checks_host = false};
  const Request request = with(request_of("GET", "/"), "host", "jobs.example");
  CHECK(status_of(request, settings) == 200);
  const Request change = with(request_of("POST", "/api/v1/jobs/1/delete"), "host", "jobs.example");
  CHECK(status_of(with(change, "origin", "http://other.example"), settings) == 403);
}

TEST_CASE("guard: numbers, localhost and names of one word cannot be turned to us") {
  const std::vector<std::string> none;
  for (const char* host : {"127.0.0.1:7420", "10.1.2.3", "[::1]:7420", "[fe80::1]", "localhost",
                           "LocalHost:7420", "jobs.localhost", "millrace:7420", ""}) {
    CHECK_MESSAGE(is_own_host(host, none), host);
  }
  for (const char* host : {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80",
                           "1.2.3.4.nip.io", "notlocalhost.com"}) {
    CHECK_FALSE_MESSAGE(is_own_host(host, none), host);
  }
}

TEST_CASE("guard: with a password any name will do, and health is for everybody") {
  const Request request = with(request_of("GET", "/"), "host", "a.example");
  const Request known = with(request, "authorization", "Basic OnNlY3JldA==");
  CHECK(status_of(known, {.password = "secret"}) == 200);
  CHECK(status_of(with(request_of("GET", "/health"), "host", "a.example")) == 200);
}

TEST_CASE("guard: health and the manual ask for no password, metrics and pages do") {
  const GuardSettings settings{.password = "secret"};
  CHECK(status_of(request_of("GET", "/health"), settings) == 200);
  CHECK(status_of(request_of("GET", "/help/operations/options"), settings) == 200);
  CHECK(status_of(request_of("POST", "/help/"), settings) == 401);
  CHECK(status_of(request_of("GET", "/helpers"), settings) == 401);
  CHECK(status_of(request_of("GET", "/metrics"), settings) == 401);
  CHECK(status_of(request_of("GET", "/stats"), settings) == 401);
  CHECK(status_of(request_of("GET", "/"), settings) == 401);
}

TEST_CASE("guard: a change from another site is refused") {
  const Request request = request_of("POST", "/api/v1/jobs/1/delete");
  CHECK(status_of(request) == 200);
  CHECK(status_of(with(request, "sec-fetch-site", "same-origin")) == 200);
  CHECK(status_of(with(request, "sec-fetch-site", "cross-site")) == 403);
  CHECK(status_of(with(request, "sec-fetch-site", "same-site")) == 403);
  const Request from = with(request, "host", "a.localhost:7420");
  CHECK(status_of(with(from, "origin", "http://a.localhost:7420")) == 200);
  CHECK(status_of(with(from, "origin", "http://b.example")) == 403);
  CHECK(status_of(with(from, "origin", "null")) == 403);
}

TEST_CASE("guard: read-only refuses every change and shows everything") {
  const GuardSettings settings{.is_read_only = true};
  const auto refused = checked(request_of("POST", "/api/v1/jobs"), settings);
  REQUIRE(refused);
  CHECK(refused->status == 403);
  CHECK(refused->headers.at("X-Read-Only") == "1");
  CHECK(status_of(request_of("GET", "/api/v1/jobs"), settings) == 200);
}

TEST_CASE("guard: a change is a POST of JSON that is not compressed") {
  const Request request = with(request_of("POST", "/api/v1/jobs"), "content-length", "2");
  CHECK(status_of(request) == 415);
  CHECK(status_of(with(request, "content-type", "text/plain")) == 415);
  const Request json = with(request, "content-type", "Application/JSON; charset=utf-8");
  CHECK(status_of(json) == 200);
  CHECK(status_of(with(json, "content-encoding", "gzip")) == 415);
  CHECK(status_of(request_of("DELETE", "/api/v1/jobs")) == 405);
}

TEST_CASE("guard: a path at the limit passes, one past it does not") {
  CHECK(status_of(request_of("GET", std::string(kPathBytesMax, '/'))) == 200);
  CHECK(status_of(request_of("GET", std::string(kPathBytesMax + 1, '/'))) == 414);
}

TEST_CASE("guard: answers run no foreign script, stay in no cache and in no frame") {
  Response response;
  harden(response);
  const std::string& policy = response.headers["Content-Security-Policy"];
  CHECK(policy.find("default-src 'none'") == 0);
  CHECK(policy.find("frame-ancestors 'none'") != std::string::npos);
  CHECK(policy.find("unsafe") == std::string::npos);
  CHECK(response.headers["X-Content-Type-Options"] == "nosniff");
  CHECK(response.headers["Cache-Control"] == "no-store");
}

TEST_CASE("guard: a proxy's prefix is taken only where it is one") {
  CHECK(clean_prefix("/jobs/") == "/jobs");
  CHECK(clean_prefix("") == "");
  CHECK(clean_prefix("//evil.example") == "");
  CHECK(clean_prefix("/a\"><script>") == "");
  CHECK(clean_prefix("/a/../b") == "");
  CHECK(clean_prefix("/" + std::string(kPrefixBytesMax - 1, 'a')).size() == kPrefixBytesMax);
  CHECK(clean_prefix("/" + std::string(kPrefixBytesMax, 'a')) == "");
}

}  // namespace millrace::http
