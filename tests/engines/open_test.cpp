#include "engines/open.hpp"

#include "support/doctest.hpp"

namespace millrace::engines {

TEST_CASE("log service: another URL is refused with one line that says what there is") {
  for (const char* url : {"kafka://ann:s3cret@k1/jobs", "host=db password=s3cret", ""}) {
    const auto log = open_log_service(url, {});
    REQUIRE_FALSE(log.has_value());
    CHECK(log.error().text.find("nats://") != std::string::npos);
    CHECK(log.error().text.find("s3cret") == std::string::npos);
    CHECK(log.error().text.find('\n') == std::string::npos);
  }
}

TEST_CASE("log service: nats and tls are NATS") {
  CHECK(open_log_service("nats://n1", {}).error().text.find("/STREAM") != std::string::npos);
  CHECK(open_log_service("tls://n1", {}).error().text.find("/STREAM") != std::string::npos);
}

TEST_CASE("log service: an engine that is away may come, and a URL that is wrong stays so") {
  for (const char* url : {"nats://127.0.0.1:1/jobs", "postgresql://127.0.0.1:1/jobs"}) {
    const auto log = open_log_service(url, {});
    REQUIRE_FALSE(log.has_value());
    CAPTURE(log.error().text);
    CHECK(log.error().is_passing);
  }
  for (const char* url :
       {"ftp://127.0.0.1:1/jobs", "nats://127.0.0.1:1", "postgresql://[::1/jobs"}) {
    const auto log = open_log_service(url, {});
    REQUIRE_FALSE(log.has_value());
    CAPTURE(log.error().text);
    CHECK_FALSE(log.error().is_passing);
  }
}

}  // namespace millrace::engines
