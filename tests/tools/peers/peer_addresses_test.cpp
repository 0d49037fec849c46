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

TEST_CASE("same port: a name and its addresses lead to one") {
  CHECK(lead_to_one_port("beanstalk://localhost:11300", "beanstalk://127.0.0.1:11300"));
  CHECK(lead_to_one_port("tcp://127.0.0.1:7419", "tcp://localhost:7419"));
  CHECK(lead_to_one_port("tcp+tls://[::1]:7419", "tcp+tls://[0:0::1]:7419"));
  CHECK(lead_to_one_port("tcp://[::ffff:127.0.0.1]:7419", "tcp://127.0.0.1:7419"));
}

TEST_CASE("same port: another address or port is another one") {
  CHECK_FALSE(lead_to_one_port("beanstalk://127.0.0.1:11300", "beanstalk://127.0.0.1:11301"));
  CHECK_FALSE(lead_to_one_port("beanstalk://127.0.0.1:11300", "beanstalk://127.0.0.2:11300"));
  CHECK_FALSE(lead_to_one_port("tcp://127.0.0.1:7419", "tcp://[::1]:7419"));
}

TEST_CASE("same port: names that lead nowhere are the same only to the letter") {
  CHECK(lead_to_one_port("beanstalk://a.invalid:11300", "beanstalk://a.invalid:11300"));
  CHECK_FALSE(lead_to_one_port("beanstalk://a.invalid:11300", "beanstalk://b.invalid:11300"));
  CHECK_FALSE(lead_to_one_port("odd", "tcp://127.0.0.1:7419"));
}

}  // namespace millrace::tools
