#pragma once

#include <absl/container/btree_set.h>

#include "core/model/types.hpp"

/// The orders of jobs. Their entries carry the job's slot in the store, so that walking
/// one touches no job that is not wanted.
namespace millrace {

/// Ready jobs of a queue: smallest priority first, then smallest sequence. No sequence is drawn
/// twice; the slot comes last so that in a log that says otherwise no job hides another.
struct ReadyEntry {
  Pri pri;
  JobSlot slot;
  Sequence sequence;

  friend bool operator<(const ReadyEntry& a, const ReadyEntry& b) {
    if (a.pri != b.pri) return a.pri < b.pri;
    return a.sequence != b.sequence ? a.sequence < b.sequence : a.slot < b.slot;
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
