#include "tools/peers/peer_addresses.hpp"

#include "support/doctest.hpp"

namespace millrace::tools {

TEST_CASE("peer addresses: of a beanstalkd") {
  CHECK(beanstalk_name(*parse_beanstalk_address("beanstalk://a")) == "beanstalk://a:11300");
  CHECK(beanstalk_name(*parse_beanstalk_address("beanstalk://[::1]:5/")) == "beanstalk://[::1]:5");
  for (const char* text : {"", "a", "beanstalk://", "beanstalk://a:0", "beanstalk://a:70000",
                           "beanstalk://a b", "beanstalk://u@a", "tcp://a", "beanstalk://\x1b[a"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_beanstalk_address(text));
  }
}

TEST_CASE("peer addresses: of a Faktory, as in FAKTORY_URL") {
  const auto plain = parse_faktory_address("tcp://a");
  REQUIRE(plain);
  CHECK(faktory_name(*plain) == "tcp://a:7419");
  CHECK(plain->password.empty());
  const auto full = parse_faktory_address("tcp+tls://:p%40s@s@[::1]:5");
  REQUIRE(full);
  CHECK(faktory_name(*full) == "tcp+tls://[::1]:5");
  CHECK(full->password == "p@s@s");
  CHECK(full->target.is_tls);
  CHECK(parse_faktory_address("tcp://user:p@a")->password == "p");
  CHECK(parse_faktory_address("tcp://user@a")->password.empty());
  CHECK(faktory_name(*parse_faktory_address("tcp://[::1]")) == "tcp://[::1]:7419");
  for (const char* text : {"", "a", "tcp://", "tcp://:p@", "tcp://:%zz@a", "tcp://a:0", "tcp://a b",
                           "tcp://tls://a", "tcp://unix:/a", "http://a", "tcp://beanstalk://a"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_faktory_address(text));
  }
}

}  // namespace millrace::tools
