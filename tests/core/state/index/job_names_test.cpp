#include "core/state/index/job_names.hpp"

#include <algorithm>
#include <map>
#include <random>

#include "support/doctest.hpp"

namespace millrace::test {
namespace {

/// Jobs with an id and nothing else.
struct Named {
  JobSlot add(JobId id, std::uint32_t hash) {
    const JobSlot slot = jobs.allocate();
    jobs[slot].id = id;
    names.enter(slot, hash);
    return slot;
  }
  void remove(JobSlot slot) {
    names.leave(slot);
    jobs.free(slot);
  }
  [[nodiscard]] std::vector<JobId> ids(std::uint32_t hash, std::size_t limit = 100) const {
    std::vector<JobId> found;
    for (const JobSlot slot : names.candidates(hash, limit)) found.push_back(jobs[slot].id);
    return found;
  }

  Slab<Job> jobs;
  JobNames names{jobs};
};

TEST_CASE("job names: what was entered is found, and what left is not") {
  Named named;
  const JobSlot one = named.add(1, 77);
  named.add(2, 78);
  CHECK(named.ids(77) == std::vector<JobId>{1});
  CHECK(named.ids(76).empty());
  CHECK_FALSE(named.names.newest(76));
  named.remove(one);
  CHECK(named.ids(77).empty());
  CHECK(named.ids(78) == std::vector<JobId>{2});
  CHECK(named.names.size() == 1);
}

TEST_CASE(
    "job names: of many jobs with one hash the newest come first, in whichever order they came") {
  Named named;
  const JobSlot five = named.add(5, 9);
  const JobSlot nine = named.add(9, 9);
  named.add(2, 9);
  named.add(7, 9);
  CHECK(named.ids(9) == std::vector<JobId>{9, 7, 5, 2});
  CHECK(named.ids(9, 2) == std::vector<JobId>{9, 7});
  CHECK(named.ids(9, 0).empty());
  named.remove(nine);
  CHECK(named.ids(9) == std::vector<JobId>{7, 5, 2});
  named.remove(five);
  CHECK(named.ids(9) == std::vector<JobId>{7, 2});
  CHECK(named.names.size() == 2);
}

TEST_CASE("job names: a job that was not entered may leave") {
  Named named;
  const JobSlot slot = named.jobs.allocate();
  named.names.leave(slot);
  CHECK(named.names.size() == 0);
}

TEST_CASE("job names: agrees with a map, whatever comes and leaves") {
  std::mt19937 random(4);
  Named named;
  std::map<JobId, std::pair<std::uint32_t, JobSlot>> model;
  JobId next = 1;
  for (std::uint32_t step = 0; step < 6'000; ++step) {
    // Few hashes, and some of one shard.
    const std::uint32_t hash = 1 + (random() % 40) * 512;
    if (model.empty() || random() % 5 < 3 - step / 3'000) {
      model[next] = {hash, named.add(next, hash)};
      ++next;
    } else {
      const auto victim =
          std::next(model.begin(), static_cast<std::ptrdiff_t>(random() % model.size()));
      named.remove(victim->second.second);
      model.erase(victim);
    }
    std::vector<JobId> expected;
    for (const auto& [id, entry] : model) {
      if (entry.first == hash) expected.push_back(id);
    }
    std::reverse(expected.begin(), expected.end());
    REQUIRE(named.ids(hash, 20'000) == expected);
    REQUIRE(named.names.size() == model.size());
  }
}

}  // namespace
}  // namespace millrace::test
