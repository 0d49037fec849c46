#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_map.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/features/throttle_limits.hpp"
#include "core/model/log_place.hpp"
#include "core/model/types.hpp"

namespace millrace {

struct JobKey;

/// What counts as one worker: a `wid`, or a connection that speaks for none. It is here as long as
/// it has slots.
struct SlotHolder {
  std::string wid;          ///< empty: the connection
  ClientId connection = 0;  ///< 0 with an empty `wid`: connections of before the start
  /// How many it has of each throttle, by its place.
  absl::flat_hash_map<std::uint32_t, std::uint32_t> slots;
};

/// A reservation that is not older than the timeout of its throttle.
struct Slot {
  Time reserved_at{};
  JobId job = 0;
  SlotHolder* holder = nullptr;
  JobKey* key = nullptr;  ///< null: none, or keys have no limit

  std::strong_ordering operator<=>(const Slot& other) const {
    if (const auto order = reserved_at <=> other.reserved_at; order != 0) return order;
    return job <=> other.job;
  }
  bool operator==(const Slot& other) const { return (*this <=> other) == 0; }
};

/// The limits of a queue, or of all jobs of a type, and what counts against them. Only `Throttles`
/// changes one.
///
/// A slot is nothing of its own: the slots follow from the reservations, so none can leak, and
/// none is stored. Stored are the limits that an operator set, and the time of the bucket.
struct Throttle {
  std::string name;              ///< of the queue, or `type:` and the jobtype
  bool is_type = false;          ///< no queue has a name with a colon
  std::uint32_t place = 0;       ///< in `Throttles`
  std::optional<QueueId> queue;  ///< set while limits are in force for a queue that is there
  ThrottleLimits limits;         ///< those in force
  std::optional<ThrottleLimits> by_hand;  ///< those that an operator set
  std::string rule;                       ///< the pattern that they are from; empty: by hand
  Time full_at{};                         ///< see `TokenBucket`

  absl::btree_set<Slot> slots;     ///< the oldest first
  Time aged_at = Time::min();      ///< reservations that began by then count no more
  bool is_counting = false;        ///< reservations from before the limits were not all counted yet
  bool is_lining_up = false;       ///< the jobs of the queue are not all in lines yet
  bool is_freed = false;           ///< clients that wait are to be served
  bool is_bucket_changed = false;  ///< since it was written
  Time alarm = kNever;             ///< when to look at the queue
  Time bucket_alarm = kNever;      ///< when to look whether the bucket is full
  /// Clients with smaller tickets that wait in the queue are those of workers without a free slot.
  std::uint64_t passed_over = 0;

  // Of a type only.
  bool is_named = false;     ///< a rule names it, and does not only match it
  std::uint32_t groups = 0;  ///< queues in which jobs were passed over: see `LineGroup`
  /// Those that are to be looked at when a slot is free, by ticket.
  absl::btree_map<std::uint64_t, QueueId> parked;
  std::uint64_t tickets = 0;

  // Since the limits came into force; not stored.
  std::uint64_t held = 0;       ///< jobs that were handed out
  std::uint64_t overage = 0;    ///< of them, those that ran for longer than the timeout
  std::uint64_t reclaimed = 0;  ///< slots of jobs that were taken back from lost workers

  [[nodiscard]] bool is_in_force() const { return queue || is_type; }
  /// How many running jobs count.
  [[nodiscard]] std::uint32_t taken() const { return static_cast<std::uint32_t>(slots.size()); }
  /// Empty: it is one of a queue.
  [[nodiscard]] std::string_view jobtype() const {
    return is_type ? std::string_view(name).substr(kTypePrefix.size()) : std::string_view();
  }

  std::optional<LogNode> log;  ///< set while it has a record that the log must keep

  /// Whether it lets a job through, to a worker that has a free slot of its own.
  [[nodiscard]] bool has_room(Time now) const {
    if (is_counting || is_lining_up || (limits.concurrency != 0 && taken() >= limits.concurrency))
      return false;
    return !limits.has_rate() || TokenBucket(limits).next_at(full_at) <= now;
  }
  /// How many jobs may begin now, by `concurrency` and the rate; nullopt: any number.
  [[nodiscard]] std::optional<std::uint64_t> free(Time now) const;
};

}  // namespace millrace
