#include "server/process/process.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

DescriptorNeeds needs_with(std::uint64_t limit) {
  return {.limit = limit,
          .open_already = 3,
          .has_journal = true,
          .has_web = true,
          .web_connections_max = 128};
}

}  // namespace

TEST_CASE("descriptors: what the server needs is left out, and a quarter is for browsers") {
  const auto limits = share_descriptors(needs_with(253));
  REQUIRE(limits);
  CHECK(limits->clients == 150);
  CHECK(limits->web == 50);
}

TEST_CASE("descriptors: browsers get no more than they may ever have") {
  const auto limits = share_descriptors(needs_with(10'053));
  REQUIRE(limits);
  CHECK(limits->clients == 9'872);
  CHECK(limits->web == 128);
}

TEST_CASE("descriptors: without a web port or a journal all are for clients") {
  DescriptorNeeds needs = needs_with(61);
  needs.has_web = false;
  CHECK(share_descriptors(needs)->clients == 8);
  needs.has_journal = false;
  CHECK(share_descriptors(needs)->clients == 30);
}

TEST_CASE("descriptors: a limit that is too low is refused with the number that is needed") {
  CHECK(share_descriptors(needs_with(61)));
  const auto refused = share_descriptors(needs_with(60));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text ==
        "the limit of open files is 60, and the server needs at least 61: raise the hard limit "
        "(ulimit -Hn, LimitNOFILE)");
}

}  // namespace millrace::server
