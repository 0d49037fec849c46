#include "server/cluster/node_reports.hpp"
#include "support/doctest.hpp"

namespace millrace::server {

TEST_CASE("report signature: HMAC-SHA-256, with a key that scrypt makes of the password") {
  CHECK(ReportKey("a secret").sign("a report") ==
        "2:e63f05e5742ccc42f6e56eaff5a0450e4347d49fe55a4019aed6069e8ac9e95b");
  CHECK(ReportKey("").sign("a report") ==
        "2:b525fda9221683433359d9751a0b1f8c7ca6a797eaefa5290bdf56998dce7928");
}

TEST_CASE("report signature: differs by password and by report, also where there is none") {
  const ReportKey key("x");
  CHECK(key.sign("a") == ReportKey("x").sign("a"));
  CHECK(key.sign("a") != ReportKey("y").sign("a"));
  CHECK(key.sign("a") != key.sign("b"));
  CHECK(ReportKey("").sign("a") != ReportKey("").sign("b"));
}

}  // namespace millrace::server
