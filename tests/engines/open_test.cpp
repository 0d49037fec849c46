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

}  // namespace millrace::engines
