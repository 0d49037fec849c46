#include "engines/nats_url.hpp"

#include "support/doctest.hpp"

namespace millrace::engines {

TEST_CASE("NATS URL: servers, user and stream are read") {
  const auto url = parse_nats_url("nats://ann:p%40ss@n1:4223,n2,[::1]:5000/jobs?replicas=3");
  REQUIRE(url.has_value());
  CHECK(url->servers ==
        std::vector<std::string>{"nats://n1:4223", "nats://n2:4222", "nats://[::1]:5000"});
  CHECK(url->user == "ann");
  CHECK(url->password == "p@ss");
  CHECK(url->stream == "jobs");
  CHECK(url->replicas == 3);
  CHECK_FALSE(url->uses_tls);
  CHECK_FALSE(url->is_declared_synced);
}

TEST_CASE("NATS URL: a user without a password is a token") {
  const auto url = parse_nats_url("tls://s3cret@n1/jobs?synced=yes");
  REQUIRE(url.has_value());
  CHECK(url->token == "s3cret");
  CHECK(url->user.empty());
  CHECK(url->uses_tls);
  CHECK(url->servers.front() == "tls://n1:4222");
  CHECK(url->is_declared_synced);
}

TEST_CASE("NATS URL: a password may contain what separates") {
  const auto url = parse_nats_url("nats://ann:a/b@c%zz%4@n1/jobs");
  REQUIRE(url.has_value());
  CHECK(url->password == "a/b@c%zz%4");
}

TEST_CASE("NATS URL: what is none is one line without the password") {
  for (const char* text :
       {"http://ann:s3cret@n1/jobs", "nats://ann:s3cret@/jobs", "nats://ann:s3cret@n1",
        "nats://ann:s3cret@n1/jobs.all", "nats://ann:s3cret@n1:0/jobs",
        "nats://ann:s3cret@n1:70000/jobs", "nats://ann:s3cret@n 1/jobs",
        "nats://ann:s3cret@n1/jobs?replicas=9", "nats://ann:s3cret@n1/jobs?synced=no",
        "nats://ann:s3cret@n1/jobs?password=s3cret"}) {
    const auto url = parse_nats_url(text);
    REQUIRE_FALSE(url.has_value());
    CHECK(url.error().text.find("s3cret") == std::string::npos);
    CHECK(url.error().text.find('\n') == std::string::npos);
  }
}

TEST_CASE("NATS URL: a wrong parameter is named") {
  CHECK(parse_nats_url("nats://n1/jobs?sync=yes").error().text ==
        "the URL of a log in NATS has the unknown parameter sync: it may have replicas=N and "
        "synced=yes");
  CHECK(parse_nats_url("nats://n1/jobs?synced=no").error().text ==
        "the URL of a log in NATS: synced may only be yes");
}

TEST_CASE("NATS URL: no more than 32 servers") {
  std::string hosts = "n";
  for (int i = 1; i < 32; ++i) hosts += ",n";
  CHECK(parse_nats_url("nats://" + hosts + "/jobs").has_value());
  CHECK_FALSE(parse_nats_url("nats://" + hosts + ",n/jobs").has_value());
}

}  // namespace millrace::engines
