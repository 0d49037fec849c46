#include "base/base64.hpp"

#include "support/doctest.hpp"

namespace millrace {

TEST_CASE("base64: there and back") {
  CHECK(base64("any") == "YW55");
  CHECK(base64("an") == "YW4=");
  CHECK(from_base64("YW4=") == "an");
  CHECK(from_base64("YW4") == "an");
  CHECK(from_base64("") == "");
  CHECK_FALSE(from_base64("Y"));
  CHECK_FALSE(from_base64("Y W 4"));
}

TEST_CASE("base64: bytes outside of the alphabet are an error, wherever they are") {
  CHECK_FALSE(from_base64("YW=4"));
  CHECK_FALSE(from_base64("YW4."));
  CHECK_FALSE(from_base64("YW4\n"));
  CHECK_FALSE(from_base64("-_8"));
}

}  // namespace millrace
