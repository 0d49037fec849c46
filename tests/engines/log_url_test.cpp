#include "engines/log_url.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::engines {
namespace {

/// What is wrong with the URL; empty: nothing.
std::string mistake_in(const std::string& url) {
  const auto checked = check_log_url(url);
  return checked ? "" : checked.error().text;
}

}  // namespace

TEST_CASE("log URL: what an engine reads is taken, whether the engine is there or not") {
  CHECK(mistake_in("nats://u:p@a:4222,b/jobs?replicas=3&synced=yes") == "");
  CHECK(mistake_in("tls://a/jobs") == "");
  CHECK(mistake_in("postgresql://u:p@a:5432,b/jobs?millrace_log=jobs2&sslmode=require") == "");
  CHECK(mistake_in("postgres://db:65535/jobs") == "");
  CHECK(mistake_in("postgresql://") == "");
  CHECK(mistake_in("postgresql://u@a,b/x?target_session_attrs=read-write&sslmode=verify-ca") == "");
  CHECK(mistake_in("postgresql://u@a/x?hostaddr=127.0.0.1&sslrootcert=/there") == "");
  CHECK(mistake_in("postgresql:///x?hostaddr=127.0.0.1,127.0.0.2&port=1,2") == "");
  CHECK(mistake_in("postgresql:///x?host=/run/postgresql") == "");
}

TEST_CASE("log URL: a mistake is one line without user and password") {
  for (const char* url : {"",
                          "host=db password=s3cret",
                          "kafka://ann:s3cret@k1/jobs",
                          "nats://s3cret@a",
                          "nats://u:s3cret@a:0/jobs",
                          "nats://u:s3cret@a:65536/jobs",
                          "nats://s3cret@/jobs",
                          "nats://s3cret@a/jobs?sync=yes",
                          "nats://s3cret@a/jobs?synced=no",
                          "nats://s3cret@a/jobs?replicas=6",
                          "postgresql://u:s3cret@[::1/jobs",
                          "postgresql://u:s3cret@a:65536/jobs",
                          "postgresql://u:s3cret@a:5432,b:x/jobs",
                          "postgresql://u:s3cret@a:0/jobs",
                          "postgresql://u:s3cret@a/jobs?sync=yes",
                          "postgresql://a/jobs?sslmode=s3cret",
                          "postgresql://a/jobs?target_session_attrs=s3cret",
                          "postgresql://u:s3cret@a/jobs?port=1,2",
                          "postgresql://u:pw@s3cret@a/jobs",
                          "postgresql://u:s3cret@a/jobs?millrace_log=A"}) {
    CAPTURE(url);
    const std::string problem = mistake_in(url);
    CHECK(problem.find("the URL of") != std::string::npos);
    CHECK(problem.find("s3cret") == std::string::npos);
    CHECK(problem.find('\n') == std::string::npos);
  }
}

TEST_CASE("log URL: what is shown has neither user, password nor parameters") {
  CHECK(shown_url("nats://u:p@a:4222,b:4222/jobs") == "nats://a:4222,b:4222/jobs");
  CHECK(shown_url("nats://a/jobs") == "nats://a/jobs");
  CHECK(shown_url("postgresql://u:p%40@db/x?password=secret") == "postgresql://db/x");
  CHECK(shown_url("postgresql://u:p@ss/@db/x#y") == "postgresql://db/x");
  CHECK(shown_url("postgresql://u@db/x?password=s&millrace_log=jobs2&b=c") ==
        "postgresql://db/x?millrace_log=jobs2");
  CHECK(shown_url("postgresql://u@db/x?not_millrace_log=s") == "postgresql://db/x");
  CHECK(shown_url("postgresql://u@db/x?password=p@ss") == "postgresql://...");
  CHECK(shown_url("postgresql://u@db/x?password=a?millrace_log=b") == "postgresql://db/x");
  CHECK(shown_url("postgresql://u@db/x?millrace_log=a/B") == "postgresql://db/x");
  CHECK(shown_url("postgresql://u:a?b@db/x") == "postgresql://...");
  CHECK(shown_url("host=db password=secret") == "(not a URL)");
}

}  // namespace millrace::engines
