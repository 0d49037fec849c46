#include "beanstalk/yaml.hpp"

#include "support/doctest.hpp"

namespace millrace::beanstalk {

TEST_CASE("yaml: keys and items in the order of the calls") {
  std::string out;
  Yaml{}
      .number("n", 1)
      .plain("p", "x")
      .quoted("q", "y z")
      .flag("f", false)
      .item("i")
      .append_to(out);
  CHECK(out == "OK 36\r\n---\nn: 1\np: x\nq: \"y z\"\nf: false\n- i\n\r\n");
}

}  // namespace millrace::beanstalk
