#include "http/kit/json.hpp"

#include "support/doctest.hpp"

namespace millrace::http {

TEST_CASE("json: a text is cut between characters") {
  CHECK(cut("caf\xc3\xa9", 4) == "caf");
}

}  // namespace millrace::http
