#include "http/kit/text.hpp"

#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("text: an escape in an address has two digits") {
  CHECK_FALSE(has_broken_escape("/jobs?error=%C3%a9&text=5"));
  CHECK(has_broken_escape("/jobs?error=50%"));
  CHECK(has_broken_escape("/jobs?error=%f"));
  CHECK(has_broken_escape("/jobs?error=%41%zz"));
}

TEST_CASE("text: a name in a header has nothing but letters, digits and escapes") {
  CHECK(percent_encoded("prod 1") == "prod%201");
  CHECK(percent_encoded("é\n") == "%C3%A9%0A");
}

}  // namespace millrace::http
