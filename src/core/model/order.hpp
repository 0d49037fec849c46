#pragma once

#include <absl/container/btree_set.h>

#include <compare>
#include <cstdint>

#include "core/model/types.hpp"

/// The orders in which jobs stand. Their entries carry the job's slot in the store, so that walking
/// one touches no job that is not wanted.
namespace millrace {

/// Ready jobs of a queue: smallest priority first, then smallest sequence.
struct ReadyEntry {
  Pri pri;
  JobSlot slot;
  Sequence sequence;

  friend bool operator<(const ReadyEntry& a, const ReadyEntry& b) {
    return a.pri != b.pri ? a.pri < b.pri : a.sequence < b.sequence;
  }
};
using ReadyOrder = absl::btree_set<ReadyEntry>;

/// Jobs by a time (due, deadline, or time of death), then by id.
struct TimeEntry {
  Time when;
  JobId id;
  JobSlot slot;

  friend bool operator<(const TimeEntry& a, const TimeEntry& b) {
    return a.when != b.when ? a.when < b.when : a.id < b.id;
  }
};
using TimeOrder = absl::btree_set<TimeEntry>;

}  // namespace millrace
