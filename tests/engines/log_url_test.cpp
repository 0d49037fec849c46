#include "engines/log_url.hpp"

#include "support/doctest.hpp"

namespace millrace::engines {

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
