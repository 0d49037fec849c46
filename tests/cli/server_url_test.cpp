#include <string>

#include "cli/choice.hpp"
#include "support/doctest.hpp"

namespace millrace::cli {

TEST_CASE("URL: host and port, with the default ports of URLs") {
  CHECK(parse_server_url("http://jobs.example:7420").value().shown() == "http://jobs.example:7420");
  CHECK(parse_server_url("http://jobs/").value().shown() == "http://jobs:80");
  CHECK(parse_server_url("https://jobs").value().shown() == "https://jobs:443");
  CHECK(parse_server_url("http://[::1]:7420").value().shown() == "http://[::1]:7420");
  CHECK(parse_server_url("http://[::1]:7420").value().host == "::1");
}

TEST_CASE("URL: without a scheme it is http, with the port of Millrace") {
  CHECK(parse_server_url("jobs").value().shown() == "http://jobs:7420");
  CHECK(parse_server_url("jobs:81/").value().shown() == "http://jobs:81");
  CHECK(parse_server_url("[::1]").value().shown() == "http://[::1]:7420");
  CHECK(parse_server_url(":secret@jobs").value().password == "secret");
}

TEST_CASE("URL: a proxy may have the server under a path") {
  CHECK(parse_server_url("https://host/jobs/").value().shown() == "https://host:443/jobs");
  CHECK(parse_server_url("https://:a/b@host:1/c/d").value().path == "/c/d");
  CHECK(parse_server_url("host/jobs").value().path == "/jobs");
}

TEST_CASE("URL: user and password may have escapes, and are not shown") {
  const ServerUrl url = parse_server_url("https://me:a%3Ab/c@jobs:1").value();
  CHECK(url.user == "me");
  CHECK(url.password == "a:b/c");
  CHECK(url.shown() == "https://jobs:1");
  CHECK(parse_server_url("http://:secret@jobs").value().password == "secret");
}

TEST_CASE("URL: others are refused, and the message has nothing of them") {
  for (const char* text :
       {"", "ftp://jobs", "http://", "/jobs", "jobs:7420?x", "http://jobs/a b", "http://jobs/#a",
        "http://jobs:0", "http://jobs:65536", "http://jobs:x", "http://me:secret@", "http://[::1",
        "http://me:secret%zz@jobs", "http://jobs 1", "http://jobs?x"}) {
    CAPTURE(text);
    const auto url = parse_server_url(text);
    REQUIRE_FALSE(url);
    CHECK(url.error().text.find("secret") == std::string::npos);
  }
}

}  // namespace millrace::cli
