#include "client/target.hpp"

#include "support/doctest.hpp"

namespace millrace::client {

TEST_CASE("target: hosts, with beanstalk's port where there is none") {
  CHECK(parse_target("jobs").value().text() == "jobs:11300");
  CHECK(parse_target("jobs.example:1").value().text() == "jobs.example:1");
  CHECK(parse_target("beanstalk://jobs:2/").value().text() == "jobs:2");
  CHECK(parse_target("[::1]").value().text() == "[::1]:11300");
  CHECK(parse_target("::1").value().text() == "[::1]:11300");
  CHECK(parse_target("fe80::1/").value().host == "fe80::1");
  CHECK(parse_target("[::1]:3").value().host == "::1");
  CHECK(parse_target("[::1]:3").value().text() == "[::1]:3");
}

TEST_CASE("target: unix sockets and TLS") {
  CHECK(parse_target("unix:/run/jobs.sock").value().is_unix);
  CHECK(parse_target("unix:/run/jobs.sock").value().text() == "unix:/run/jobs.sock");
  CHECK(parse_target("tls://jobs:4").value().is_tls);
  CHECK_FALSE(parse_target("jobs:4").value().is_tls);
}

TEST_CASE("target: others are refused") {
  for (const char* text :
       {"", ":1", "jobs:0", "jobs:65536", "jobs:x", "jobs:", "[::1", "[::1]1", "jobs:1:2",
        "me:secret@jobs:1", "jobs/path", "unix:", "http://jobs", "a b"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_target(text));
  }
}

}  // namespace millrace::client
