#include "faktory/session/info.hpp"

#include "faktory/session/talking.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {

TEST_CASE("INFO counts handshaken connections") {
  InMemoryServer server;
  join(server, "a");
  join(server, "b");
  server.connect("stranger", Protocol::kFaktory);
  CHECK(contains(info(server, "a"), R"("connections":2)"));
  server.close("b");
  CHECK(contains(info(server, "a"), R"("connections":1)"));
}

}  // namespace millrace::faktory
