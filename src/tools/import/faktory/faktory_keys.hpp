#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "core/model/record.hpp"
#include "tools/import/faktory/redis.hpp"

namespace millrace::tools {

/// The keys of Faktory in its database:
///
///     queues, paused                         set of names
///     q:NAME                                 list of jobs; up to 1.9.4 NAME alone
///     scheduled, retries, dead, working      sorted set of jobs
///     processed, failures, [both]:DAY, v     number; DAY is 2026-11-26
struct FaktoryKeys {
  struct Queue {
    std::vector<std::string> lists;  ///< keys; one that was not migrated comes first
    bool is_paused = false;
  };
  std::map<std::string, Queue> queues;  ///< by name
  std::set<std::string> sorted_sets;    ///< those of the four that are there
  std::uint64_t processed = 0;          ///< runs that failed are processed, too
  std::uint64_t failed = 0;
  std::vector<DayCounts> days;  ///< oldest first

  std::uint64_t other_keys = 0;  ///< that are none of Faktory's
  std::string an_other_key;      ///< one of them
};

/// A problem: Faktory has written nothing there, or a key has another type than Faktory gives it.
/// Unless `ignores_others`, the first key that is none of Faktory's is a problem, too.
[[nodiscard]] Outcome<FaktoryKeys> read_faktory_keys(Redis& redis, bool ignores_others);

/// What changes with the database: compared at the beginning and the end of a long look at it.
struct RedisVersion {
  std::string unsaved;   ///< changes since the last save
  std::string saved_at;  ///< the last save

  bool operator==(const RedisVersion&) const = default;
};
[[nodiscard]] Outcome<RedisVersion> read_redis_version(Redis& redis);

/// Connections of others to that Redis, as far as it tells.
[[nodiscard]] std::uint64_t count_other_clients(Redis& redis);

}  // namespace millrace::tools
