#pragma once

#include <absl/container/btree_set.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/model/job.hpp"

namespace millrace {

/// The tracked jobs by the hash of their names: 16 bytes each. Names are in bodies, so the caller
/// looks there for the one that is meant.
class TrackedJobs {
 public:
  /// The job is tracked, and is entered once. It stays until it leaves, whatever its state is.
  void enter(const Job& job, JobSlot slot);
  void leave(const Job& job, JobSlot slot);

  /// Up to `limit` jobs whose names have that hash, those that were pushed last first.
  [[nodiscard]] std::vector<JobSlot> candidates(std::uint32_t jid_hash, std::size_t limit) const;

  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    JobId id;
    std::uint32_t jid_hash;
    JobSlot slot;

    friend bool operator<(const Entry& a, const Entry& b) {
      return a.jid_hash != b.jid_hash ? a.jid_hash < b.jid_hash : a.id > b.id;
    }
  };
  static_assert(sizeof(Entry) == 16);

  absl::btree_set<Entry> entries_;
};

}  // namespace millrace
