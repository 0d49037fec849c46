#include "server/cluster/report_signature.hpp"

#include "support/doctest.hpp"

namespace millrace::server {

TEST_CASE("report signature: HMAC-SHA-256, as RFC 4231 has it") {
  CHECK(sign_report("what do ya want for nothing?", "Jefe") ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST_CASE("report signature: differs by password and by report, also where there is none") {
  CHECK(sign_report("a", "x") != sign_report("a", "y"));
  CHECK(sign_report("a", "x") != sign_report("b", "x"));
  CHECK(sign_report("a", "") != sign_report("b", ""));
}

}  // namespace millrace::server
