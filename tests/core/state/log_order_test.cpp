#include "core/state/log_order.hpp"

#include <array>
#include <vector>

#include "support/doctest.hpp"

namespace millrace::test {
namespace {

struct Things {
  struct NodeOf {
    std::array<LogNode, 4>* nodes;
    LogNode& operator()(std::uint32_t slot) const { return (*nodes)[slot]; }
  };

  std::vector<std::uint32_t> place(Lsn begin) {
    std::vector<std::uint32_t> placed;
    order.place(begin, [&](std::uint32_t slot) { placed.push_back(slot); });
    return placed;
  }

  std::array<LogNode, 4> nodes;
  LogOrder<NodeOf> order{NodeOf{&nodes}};
};

}  // namespace

TEST_CASE("log order: without things nothing is oldest") {
  Things things;
  CHECK(things.order.oldest() == std::nullopt);
  CHECK(things.order.oldest_place() == std::nullopt);
  CHECK(things.place(10).empty());
}

TEST_CASE("log order: a thing has no place until its batch has one") {
  Things things;
  things.order.push_newest(2, 5);
  CHECK(things.order.oldest() == 2);
  CHECK(things.order.oldest_place() == std::nullopt);
  CHECK(things.place(100) == std::vector<std::uint32_t>{2});
  CHECK(things.order.oldest_place() == 105);
}

TEST_CASE("log order: only what is in the batch is placed, in its order") {
  Things things;
  things.order.push_newest(3, 0);
  things.place(100);
  things.order.push_newest(1, 0);
  things.order.push_newest(0, 7);
  CHECK(things.place(200) == std::vector<std::uint32_t>{1, 0});
  CHECK(things.order.oldest() == 3);
  CHECK(things.nodes[0].place.lsn() == 207);
}

TEST_CASE("log order: the next one is oldest when the oldest is removed or written again") {
  Things things;
  for (const std::uint32_t slot : {0u, 1u, 2u}) things.order.push_newest(slot, slot);
  things.place(100);
  things.order.remove(0);
  CHECK(things.order.oldest_place() == 101);
  things.order.remove(1);
  things.order.push_newest(1, 0);
  CHECK(things.order.oldest_place() == 102);
  things.order.remove(2);
  CHECK(things.order.oldest() == 1);
  CHECK(things.order.oldest_place() == std::nullopt);
}

TEST_CASE("log order: a thing removed before its batch has a place is not placed") {
  Things things;
  things.order.push_newest(0, 0);
  things.order.push_newest(1, 9);
  things.order.remove(0);
  CHECK(things.place(100) == std::vector<std::uint32_t>{1});
  things.order.push_newest(2, 0);
  things.order.remove(2);
  CHECK(things.place(200).empty());
}

TEST_CASE("lone place: is known once the batch has its place") {
  LonePlace place;
  CHECK(place.oldest_place() == std::nullopt);
  place.write();
  CHECK(place.oldest_place() == std::nullopt);
  place.place(100);
  place.place(200);
  CHECK(place.oldest_place() == 100);
  place.forget();
  CHECK(place.oldest_place() == std::nullopt);
}

}  // namespace millrace::test
