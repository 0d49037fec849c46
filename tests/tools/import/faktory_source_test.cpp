#include "tools/import/faktory/faktory_source.hpp"

#include <filesystem>

#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::tools {
namespace {

FaktorySource source_at(const std::string& text) {
  const auto source = parse_faktory_source(text);
  REQUIRE_MESSAGE(source, text);
  return *source;
}

}  // namespace

TEST_CASE("faktory source: a URL has host, port, database, user and password") {
  const FaktorySource source = source_at("redis://me:a%40b%25@redis.example:6380/3");
  CHECK(source.kind == FaktorySource::Kind::kHost);
  CHECK(source.host == "redis.example");
  CHECK(source.port == 6380);
  CHECK(source.database == 3);
  CHECK(source.user == "me");
  CHECK(source.password == "a@b%");
  CHECK(source.name() == "redis://redis.example:6380/3");
}

TEST_CASE("faktory source: what a URL leaves out is as Redis has it") {
  CHECK(source_at("redis://host").name() == "redis://host:6379/0");
  CHECK(source_at("redis://host/").name() == "redis://host:6379/0");
  CHECK(source_at("redis://[::1]").name() == "redis://[::1]:6379/0");
  CHECK(source_at("redis://[::1]:7").name() == "redis://[::1]:7/0");
  CHECK(source_at("redis://word@host").password == "word");
  CHECK(source_at("redis://:a/b@c@host").password == "a/b@c");
  CHECK(source_at("redis://:@host").password.empty());
}

TEST_CASE("faktory source: a URL over TLS is the same otherwise") {
  const FaktorySource source = source_at("rediss://:word@host:6380/1");
  CHECK(source.is_tls);
  CHECK(source.password == "word");
  CHECK(source.name() == "rediss://host:6380/1");
  CHECK_FALSE(source_at("redis://host").is_tls);
}

TEST_CASE("faktory source: other URLs are refused, without their password") {
  for (const std::string text :
       {"redis://", "redis://:7", "redis://host:", "redis://host:0", "redis://host:65536",
        "redis://host:7x", "redis://host/x", "redis://host/-1", "redis://:secret@",
        "redis://:secret%2@host", "redis://:secret%zz@host", "redis://[::1", "redis://[]",
        "redis://[::1]7", "rediss://:secret@", "rediss://host:x", "unix:", "unix://"}) {
    const auto source = parse_faktory_source(text);
    REQUIRE_FALSE_MESSAGE(source, text);
    CHECK(source.error().text.find("secret") == std::string::npos);
  }
}

TEST_CASE("faktory source: a socket, with and without slashes of a URL") {
  CHECK(source_at("unix:/run/redis.sock").path == "/run/redis.sock");
  CHECK(source_at("unix:///run/redis.sock").path == "/run/redis.sock");
  CHECK(source_at("unix:redis.sock").path == "redis.sock");
  CHECK(source_at("unix:/run/redis.sock").kind == FaktorySource::Kind::kSocket);
}

TEST_CASE("faktory source: a file, and the directory that has it, have one name") {
  const Scratch scratch;
  scratch.write("faktory.rdb", "");
  const FaktorySource file = source_at(scratch.path("faktory.rdb"));
  CHECK(file.kind == FaktorySource::Kind::kFile);
  CHECK(source_at(scratch.path("")).name() == file.name());
  CHECK(source_at(scratch.path("") + "/./").name() == file.name());
  CHECK_FALSE(parse_faktory_source(scratch.path("other.rdb")));
}

}  // namespace millrace::tools
