#include "core/state/index/job_index.hpp"

#include <map>
#include <random>

#include "support/doctest.hpp"

namespace millrace::test {
namespace {

TEST_CASE("job index: what was inserted is found, and what was erased is not") {
  JobIndex index;
  CHECK_FALSE(index.find(1));
  index.insert(1, 7);
  index.insert(15, 8);
  index.insert(16, 9);
  CHECK(index.find(1) == JobSlot{7});
  CHECK(index.find(15) == JobSlot{8});
  CHECK(index.find(16) == JobSlot{9});
  CHECK_FALSE(index.find(2));
  CHECK_FALSE(index.find(1 + 1024 * 1024));  // of the same shard
  index.erase(15);
  index.erase(15);
  index.erase(1000);
  CHECK(index.find(1) == JobSlot{7});
  CHECK_FALSE(index.find(15));
  index.erase(1);
  CHECK_FALSE(index.find(1));
  CHECK(index.find(16) == JobSlot{9});
}

TEST_CASE("job index: dense and lonely ids, inserted and erased in any order") {
  std::mt19937 random(1);
  for (const JobId spread : {JobId{3'000}, JobId{1'000'000'000}, UINT64_MAX}) {
    JobIndex index;
    std::map<JobId, JobSlot> model;
    std::uniform_int_distribution<JobId> draw(1, spread);
    for (JobSlot slot = 0; slot < 20'000; ++slot) {
      const JobId id = draw(random);
      if (model.emplace(id, slot).second) index.insert(id, slot);
      const auto victim = model.lower_bound(draw(random));
      if (victim == model.end() || slot % 2 == 0) continue;
      index.erase(victim->first);
      CHECK_FALSE(index.find(victim->first));
      model.erase(victim);
    }
    for (const auto& [id, slot] : model) CHECK(index.find(id) == slot);
    for (const auto& [id, slot] : model) index.erase(id);
    for (const auto& [id, slot] : model) CHECK_FALSE(index.find(id));
  }
}

}  // namespace
}  // namespace millrace::test
