#pragma once

#include <absl/container/btree_set.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text_map.hpp"
#include "core/model/record.hpp"
#include "core/state/ledger.hpp"
#include "tools/directory/run_counts.hpp"

namespace millrace::tools {

/// What a data directory has besides jobs that imported jobs must fit in with: times of death,
/// which no two jobs share; locks, which one job holds at most; queues; and counts.
class TargetState {
 public:
  TargetState() = default;
  /// Jobs with this id or a greater one do not count: an import that was cut short left them.
  TargetState(const Ledger& ledger, JobId first_id);

  /// That time, or the next one at which no job died.
  [[nodiscard]] Time take_death(Time wanted);

  /// False: a job holds that lock.
  [[nodiscard]] bool take_lock(const LockKey& key) {
    return locks_.insert({key.high, key.low}).second;
  }
  [[nodiscard]] const std::optional<LockSecret>& lock_secret() const { return lock_secret_; }
  /// To be recorded.
  [[nodiscard]] LockSecretDrawn draw_lock_secret();

  /// The record of a queue that stays when it is empty, with the pause that it had, or without
  /// end. It views `name`.
  [[nodiscard]] QueueChanged kept_queue(std::string_view name, bool is_paused) const;

  [[nodiscard]] const RunCounts& counts() const { return counts_; }

 private:
  struct Pause {
    Time until{};
    std::uint32_t asked_s = 0;
  };

  absl::btree_set<Time> deaths_;
  absl::btree_set<std::pair<std::uint64_t, std::uint64_t>> locks_;
  std::optional<LockSecret> lock_secret_;
  TextMap<Pause> pauses_;
  RunCounts counts_;
};

}  // namespace millrace::tools
