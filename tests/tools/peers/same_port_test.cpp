#include "tools/peers/same_port.hpp"

#include "support/doctest.hpp"

namespace millrace::tools {

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
