#include "base/slab.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "support/doctest.hpp"

namespace millrace::test {
namespace {

struct Counted {
  std::unique_ptr<int> value;
};
using Slot = Slab<Counted>::Slot;

std::vector<Slot> fill(Slab<Counted>& slab, int count) {
  std::vector<Slot> slots;
  for (int i = 0; i < count; ++i) {
    slots.push_back(slab.allocate());
    slab[slots.back()].value = std::make_unique<int>(i);
  }
  return slots;
}

TEST_CASE("slab: objects stay what and where they are") {
  Slab<Counted> slab;
  const std::vector<Slot> slots = fill(slab, 2000);
  const Counted* const first = slab.find(slots[0]);
  for (std::size_t i = 1; i < slots.size(); i += 2) slab.free(slots[i]);
  fill(slab, 500);
  CHECK(slab.find(slots[0]) == first);
  for (std::size_t i = 0; i < slots.size(); i += 2) {
    CHECK(*slab[slots[i]].value == static_cast<int>(i));
  }
  CHECK(slab.size() == 1500);
}

TEST_CASE("slab: a freed object is as new, and its slot is not in use") {
  Slab<Counted> slab;
  const Slot slot = fill(slab, 1)[0];
  slab.free(slot);
  CHECK(slab.find(slot) == nullptr);
  CHECK(slab.find(1'000'000) == nullptr);
  CHECK(slab.allocate() == slot);
  CHECK(slab[slot].value == nullptr);
}

TEST_CASE("slab: in whatever order all are freed, all but one chunk is given back") {
  for (const int order : {0, 1, 2}) {
    Slab<Counted> slab;
    std::vector<Slot> slots = fill(slab, 5120);
    if (order == 1) std::reverse(slots.begin(), slots.end());
    if (order == 2) std::shuffle(slots.begin(), slots.end(), std::mt19937(7));
    for (const Slot slot : slots) slab.free(slot);
    CAPTURE(order);
    CHECK(slab.size() == 0);
    CHECK(slab.end() == 0);
    std::size_t open = 0;
    for (Slot slot = 0; slot < 5120; slot += 512) open += slab.has_memory(slot) ? 1 : 0;
    CHECK(open == 1);
  }
}

TEST_CASE("slab: after the last of many objects, empty chunks are freed little by little") {
  Slab<Counted> slab;
  for (const Slot slot : fill(slab, 100 * 512)) slab.free(slot);
  CHECK(slab.size() == 0);
  Slot end = slab.end();
  CHECK(end > 50 * 512);
  while (end > 0) {
    for (const Slot slot : fill(slab, 1024)) slab.free(slot);
    REQUIRE(slab.end() < end);
    end = slab.end();
  }
}

TEST_CASE("slab: slots given back are used again, the lowest first") {
  Slab<Counted> slab;
  const std::vector<Slot> slots = fill(slab, 2048);
  for (const Slot slot : slots) {
    if (slot >= 512 && slot != 2047) slab.free(slot);
  }
  CHECK(slab.end() == 2048);
  CHECK(slab.allocate() == 512);
  fill(slab, 1534);
  CHECK(slab.end() == 2048);
  CHECK(slab.allocate() == 2048);
}

}  // namespace
}  // namespace millrace::test
