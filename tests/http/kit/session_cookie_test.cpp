#include "http/kit/session_cookie.hpp"

#include "http/web_fixture.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

const std::string kId(kSessionIdBytes, 'a');

Request with_cookie(const std::string& cookie) {
  Request request = request_of("GET", "/");
  request.headers["host"] = "jobs.example:7420";
  request.headers["cookie"] = cookie;
  return request;
}

using Ids = std::vector<std::string_view>;

}  // namespace

TEST_CASE("session cookie: it is found among others") {
  CHECK(session_ids(with_cookie("a=b; millrace7420=" + kId + "; c")) == Ids{kId});
  CHECK(session_ids(with_cookie("millrace7420=" + kId)) == Ids{kId});
  CHECK(session_ids(with_cookie("")) == Ids{});
}

TEST_CASE("session cookie: that of a server on another port is another one") {
  CHECK(session_ids(with_cookie("millrace7421=" + kId)) == Ids{});
  Request request = with_cookie("millrace=" + kId + "; millrace7420=" + kId);
  CHECK(session_ids(request).size() == 1);
  for (const char* host : {"jobs.example", "jobs.example:", "jobs.example:evil=1", "[::1]", ""}) {
    CAPTURE(host);
    request.headers["host"] = host;
    CHECK(set_session_cookie(request, "x").starts_with("millrace=x; "));
  }
}

TEST_CASE("session cookie: by TLS its name is bound to the host") {
  Request request = with_cookie("__Host-millrace7420=" + kId);
  CHECK(session_ids(request) == Ids{});
  request.is_encrypted = true;
  CHECK(session_ids(request) == Ids{kId});
  CHECK(set_session_cookie(request, kId) ==
        "__Host-millrace7420=" + kId + "; Path=/; HttpOnly; SameSite=Strict; Secure");
  request.prefix = "/mill";  // such a cookie has no other path than /
  CHECK(set_session_cookie(request, kId) ==
        "millrace7420=" + kId + "; Path=/mill; HttpOnly; SameSite=Strict; Secure");
}

TEST_CASE("session cookie: an empty one makes the browser forget it") {
  CHECK(set_session_cookie(with_cookie(""), "") ==
        "millrace7420=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
}

TEST_CASE("session cookie: of many, some are looked at") {
  std::string cookie;
  for (int i = 0; i < 100; ++i) cookie += "millrace7420=" + kId + "; ";
  CHECK(session_ids(with_cookie(cookie)).size() == kSessionIdsMax);
}

TEST_CASE("session cookie: what has not the form of an id is none") {
  const std::string whole = "millrace7420=" + kId;
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    CHECK(session_ids(with_cookie(whole.substr(0, bytes))) == Ids{});
  }
  CHECK(session_ids(with_cookie(whole + "a")) == Ids{});
  CHECK(session_ids(with_cookie(whole.substr(0, whole.size() - 1) + "\"")) == Ids{});
  CHECK(session_ids(with_cookie(std::string(8000, ';'))) == Ids{});
  CHECK(session_ids(with_cookie("millrace7420=" + std::string(8000, 'a'))) == Ids{});
}

}  // namespace millrace::http
