#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

#include "base/slab.hpp"
#include "core/model/job.hpp"
#include "core/ports/journal.hpp"

namespace millrace {

/// Where the bodies of jobs are: in memory, and beyond a limit in the log only. What came last goes
/// out first, since in a line it is needed last; and who is next in line is asked for ahead of
/// time.
class Bodies {
 public:
  explicit Bodies(Slab<Job>& jobs) : jobs_(jobs) {}

  /// From now on bodies may be in the log only, where they and all else would be more than
  /// `bytes_max`. `journal` outlives this. Without a call everything stays in memory.
  void spill_to(Journal& journal, std::size_t bytes_max);

  /// The job has just come into being, with this body.
  void keep(Job& job, std::string_view body);

  /// True when bodies in memory and `other_bytes` of everything else are more than they may be.
  [[nodiscard]] bool is_too_much(std::size_t other_bytes);

  /// Lets go of the body, if it is in memory and can be read again.
  void spill(const Job& job);

  /// Brings the body back into memory, where it stays until at least the next call. Waits for the
  /// disk where nobody asked for it ahead. Throws std::runtime_error when it cannot be read.
  void load(const Job& job, JobSlot slot);

  /// It will soon be loaded: the system may read it in the meantime.
  void expect(const Job& job);

  /// The job goes.
  void forget(const Job& job);

  /// What bodies in memory take.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// How many are in the log only.
  [[nodiscard]] std::size_t spilled_count() const { return spilled_count_; }

 private:
  Slab<Job>& jobs_;
  Journal* journal_ = nullptr;  ///< null: nothing is spilled
  std::size_t bytes_max_ = SIZE_MAX;
  std::size_t bytes_ = 0;
  std::size_t spilled_count_ = 0;
  std::size_t other_bytes_ = 0;  ///< as told last

  struct Loaded {
    JobSlot slot;
    JobId id;
    std::uint32_t bytes;
  };
  std::size_t loaded_bytes_ = 0;
  std::deque<Loaded> loaded_;  ///< brought back, the first one first
};

/// How much may be in memory since it was brought back; or a quarter of the limit, if less.
inline constexpr std::size_t kLoadedBytesMax = std::size_t{8} << 20;

/// What an allocation takes beside its bytes, about.
inline constexpr std::size_t kAllocationBytes = 16;

}  // namespace millrace
