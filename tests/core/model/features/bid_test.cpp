#include "core/model/features/bid.hpp"

#include "support/doctest.hpp"

namespace millrace {

TEST_CASE("bid: a number has one name, of sixteen characters") {
  CHECK(format_bid(1) == "b-AQAAAAAAAAA3ng");
  CHECK(format_bid(0x0102030405060708) == "b-CAcGBQQDAgGt2Q");
  CHECK(format_bid(UINT64_MAX) == "b-___________IYQ");
}

TEST_CASE("bid: a name is that of its number") {
  for (const JobBatchId id : {JobBatchId{1}, JobBatchId{0x0102030405060708}, UINT64_MAX}) {
    CHECK(parse_bid(format_bid(id)) == id);
  }
}

TEST_CASE("bid: what is not quite a name is none") {
  for (const char* const text :
       {"", "b-", "b-AQAAAAAAAAA3n", "b-AQAAAAAAAAA3ngA", "c-AQAAAAAAAAA3ng", "b-AQAAAAAAAAA3nA",
        "b-BQAAAAAAAAA3ng", "b-AQAAAAAAAAA3nh", "b-AQAAAA=AAAA3ng", "b-AQAAAAAAAAA3n\n",
        "b-=QAAAAAAAAA3ng", "b-AQAAAAAAA=A3ng", "b-AQAAAAAAAA=3ng",
        "b-AQAAAAAAA\xff"
        "A3ng",
        "b-AAAAAAAAAAAAAA"}) {
    CAPTURE(text);
    CHECK(parse_bid(text) == std::nullopt);
  }
}

}  // namespace millrace
