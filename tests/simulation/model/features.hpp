#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/model/types.hpp"
#include "simulation/model/command.hpp"

namespace millrace::simulation {

/// What a job has to do with locks, times, tracks and batches.
struct ModelFeatures {
  std::string lock;  ///< what must be unique; empty: nothing
  Duration unique_for{};
  bool until_start = false;
  bool holds_lock = false;  ///< or lends it, while it runs
  Time lock_ends{};         ///< by the wall clock
  Time expires_at{};        ///< by the wall clock; the epoch: never
  bool is_tracked = false;
  std::string key;   ///< whose job it is; empty: nobody's
  int batch = 0;     ///< 0: none
  std::string role;  ///< of a batch's callback: which one
  bool has_run = false;
  bool has_failed = false;

  [[nodiscard]] bool has_expired(Time wall) const {
    return expires_at != Time{} && expires_at <= wall;
  }
};

/// What was told of a job, or how it has ended.
struct ModelTrack {
  std::optional<int> percent;
  std::string desc;
  std::string end;  ///< its last state; empty: its job is there
  Time updated_at{};
};

/// How far a callback is.
enum class Callback { kWaiting, kEnqueued, kSucceeded, kGone };

struct ModelCallback {
  JobText job;
  Callback state = Callback::kWaiting;
  JobId id = 0;  ///< of the job, once it was pushed
};

/// Of its members and children nothing is counted here that can be seen by looking at them.
struct ModelBatch {
  std::string bid;  ///< empty: the server has not told it yet
  int parent = 0;
  std::map<std::string, ModelCallback> callbacks;  ///< by role
  std::uint64_t total = 0;
  std::uint64_t lost = 0;                ///< members that have ended without success
  std::uint64_t children_forgotten = 0;  ///< of those that had not succeeded
  bool is_committed = false;
  bool was_committed = false;
  bool has_death = false;
  bool is_finished = false;
  Time since{};  ///< open: last used; finished: since when
};

}  // namespace millrace::simulation
