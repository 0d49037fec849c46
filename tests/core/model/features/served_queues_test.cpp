#include "core/model/features/served_queues.hpp"

#include "support/doctest.hpp"

namespace millrace {
namespace {

std::vector<std::string> numbered(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back("q" + std::to_string(i));
  return names;
}

std::vector<std::string_view> views_of(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

}  // namespace

TEST_CASE("served queues: one that was asked for within a minute") {
  ServedQueues served;
  served.note({"a", "b"}, Time{0s});
  served.note({"b"}, Time{30s});
  CHECK(served.has("a", Time{59s}));
  CHECK_FALSE(served.has("a", Time{60s}));
  CHECK(served.has("b", Time{60s}));
  CHECK_FALSE(served.has("c", Time{0s}));
}

TEST_CASE("served queues: what was not named for a minute is forgotten") {
  ServedQueues served;
  served.note({"a"}, Time{0s});
  served.note({"b"}, Time{60s});
  CHECK(served.all().size() == 1);
  CHECK(served.all().begin()->first == "b");
}

TEST_CASE("served queues: a thousand are remembered, and no further one") {
  ServedQueues served;
  const std::vector<std::string> names = numbered(ServedQueues::kCountMax + 1);
  served.note(views_of(names), Time{0s});
  CHECK(served.all().size() == ServedQueues::kCountMax);
  CHECK(served.has("q999", Time{0s}));
  CHECK_FALSE(served.has("q1000", Time{0s}));
}

TEST_CASE("served queues: a name that is too long for a queue is none") {
  ServedQueues served;
  const std::string longest(kQueueNameBytesMax, 'q');
  const std::string longer(kQueueNameBytesMax + 1, 'q');
  served.note({longest, longer}, Time{0s});
  CHECK(served.has(longest, Time{0s}));
  CHECK_FALSE(served.has(longer, Time{0s}));
}

}  // namespace millrace
