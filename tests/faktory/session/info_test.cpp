#include "faktory/session/info.hpp"

#include "faktory/session/talking.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {

TEST_CASE("INFO counts handshaken connections") {
  House house;
  join(house, "a");
  join(house, "b");
  house.connect("stranger", Protocol::kFaktory);
  CHECK(contains(info(house, "a"), R"("connections":2)"));
  house.close("b");
  CHECK(contains(info(house, "a"), R"("connections":1)"));
}

}  // namespace millrace::faktory
