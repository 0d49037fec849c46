#include "core/model/due_order.hpp"

#include <string>
#include <vector>

#include "support/doctest.hpp"

namespace millrace {
namespace {

constexpr Time kNoon{1'000'000'000s};

TimeEntry entry(Duration after_noon, JobId id) {
  return {.when = kNoon + after_noon, .id = id, .slot = static_cast<JobSlot>(id)};
}

/// 1 and 3 are of steady time, 2 and 4 follow the wall clock.
DueOrder four_jobs() {
  return {.steady = {entry(1h, 1), entry(3h, 3)}, .wall = {entry(2h, 2), entry(4h, 4)}};
}

std::string ids(MergedDue::Iterator from, MergedDue::Iterator to) {
  std::string text;
  for (; !(from == to); ++from) text += std::to_string((*from).id);
  return text;
}

std::string ids(const MergedDue& due) {
  return ids(due.begin(), due.end());
}

}  // namespace

TEST_CASE("due order: both parts are one order, in which the wall clock moves one of them") {
  const DueOrder order = four_jobs();
  CHECK(ids(MergedDue(order, {})) == "1234");
  CHECK(ids(MergedDue(order, {.ahead = 90min})) == "2143");
  CHECK(ids(MergedDue(order, {.ahead = 5h})) == "2413");
  CHECK(ids(MergedDue(order, {.ahead = -5h})) == "1324");
  CHECK(order.size() == 4);
}

TEST_CASE("due order: entries have steady times") {
  const DueOrder order = four_jobs();
  const MergedDue due(order, {.ahead = 5h});
  CHECK((*due.begin()).when == kNoon - 3h);
}

TEST_CASE("due order: it is walked backwards too") {
  const DueOrder order = four_jobs();
  const MergedDue due(order, {.ahead = 90min});
  std::string backwards;
  for (auto next = due.end(); !(next == due.begin());) {
    backwards += std::to_string((*--next).id);
  }
  CHECK(backwards == "3412");
}

TEST_CASE("due order: a walk begins at or after any place") {
  const DueOrder order = four_jobs();
  const MergedDue due(order, {.ahead = 90min});
  const TimeEntry second = *++due.begin();
  CHECK(ids(due.lower_bound(second), due.end()) == "143");
  CHECK(ids(due.upper_bound(second), due.end()) == "43");
  CHECK(due.upper_bound(entry(9h, 9)) == due.end());
}

TEST_CASE("due order: jobs that are due at the same moment come by id") {
  const DueOrder order{.steady = {entry(1h, 1), entry(1h, 3)}, .wall = {entry(2h, 2)}};
  CHECK(ids(MergedDue(order, {.ahead = 1h})) == "123");
}

}  // namespace millrace
