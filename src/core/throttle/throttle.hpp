#pragma once

#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_map.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "core/model/log_place.hpp"
#include "core/model/types.hpp"
#include "core/throttle/limits.hpp"

namespace millrace {

/// What counts as one worker: a `wid`, or a connection that speaks for none. It is here as long as
/// it has slots.
struct SlotHolder {
  std::string wid;          ///< empty: the connection
  ClientId connection = 0;  ///< 0 with an empty `wid`: connections of before the start
  bool lives = true;        ///< its slots count
  /// How many it has of each queue.
  absl::flat_hash_map<QueueId, std::uint32_t> slots;
};

/// A reservation that is not older than the timeout of its queue.
struct Slot {
  Time reserved_at{};
  JobId job = 0;
  SlotHolder* holder = nullptr;

  std::strong_ordering operator<=>(const Slot& other) const {
    if (const auto order = reserved_at <=> other.reserved_at; order != 0) return order;
    return job <=> other.job;
  }
  bool operator==(const Slot& other) const { return (*this <=> other) == 0; }
};

/// The limits of a queue and what counts against them. Only `Throttles` changes one.
///
/// A slot is nothing of its own: the slots follow from the reservations, so none can leak, and
/// none is stored. Stored are the limits that an operator set, and the time of the bucket.
struct Throttle {
  std::string queue_name;
  std::uint32_t place = 0;       ///< in `Throttles`
  std::optional<QueueId> queue;  ///< set while limits are in force for a queue that is there
  ThrottleLimits limits;         ///< those in force
  std::optional<ThrottleLimits> by_hand;  ///< those that an operator set
  std::string rule;                       ///< the pattern that they are from; empty: by hand
  Time full_at{};                         ///< see `TokenBucket`

  absl::btree_set<Slot> slots;     ///< the oldest first
  std::uint32_t taken = 0;         ///< of them, those whose holders live
  Time aged_at = Time::min();      ///< reservations that began by then count no more
  bool is_counting = false;        ///< reservations from before the limits were not all counted yet
  bool is_freed = false;           ///< clients that wait are to be served
  bool is_bucket_changed = false;  ///< since it was written
  Time alarm = kNever;             ///< when to look at the queue
  Time bucket_alarm = kNever;      ///< when to look whether the bucket is full
  /// Clients with smaller tickets that wait in the queue are those of workers without a free slot.
  std::uint64_t passed_over = 0;

  // Since the limits came into force; not stored.
  std::uint64_t held = 0;       ///< jobs that were handed out
  std::uint64_t overage = 0;    ///< of them, those that ran for longer than the timeout
  std::uint64_t reclaimed = 0;  ///< slots that were taken back since their worker was gone

  std::optional<LogNode> log;  ///< set while it has a record that the log must keep

  /// Whether the queue may hand out a job, to a worker that has a free slot of its own.
  [[nodiscard]] bool has_room(Time now) const {
    if (is_counting || (limits.concurrency != 0 && taken >= limits.concurrency)) return false;
    return !limits.has_rate() || TokenBucket(limits).next_at(full_at) <= now;
  }
  /// How many jobs may begin now, by `concurrency` and the rate; nullopt: any number.
  [[nodiscard]] std::optional<std::uint64_t> free(Time now) const;
};

}  // namespace millrace
