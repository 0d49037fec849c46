#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/slab.hpp"
#include "core/model/job.hpp"
#include "core/ports/journal.hpp"

namespace millrace {

/// A body that stays in memory for as long as somebody has this, also when its job is gone.
class PinnedBody {
 public:
  explicit PinnedBody(const Job& job) : bytes_(job.body.get()), size_(job.body_bytes) {}
  [[nodiscard]] std::string_view view() const { return {bytes_, size_}; }

 private:
  friend class Bodies;
  const char* const bytes_;
  const std::size_t size_;
  std::unique_ptr<char[]> owned_;  ///< null: the job has it
};

/// Shared: several replies may show the same body. Any thread may read it and drop the pin.
using BodyPin = std::shared_ptr<const PinnedBody>;

/// Keeps the bodies of jobs in memory, and beyond a limit in the log only. The newest are spilled
/// first, since they are needed last; the next ones in line are announced to the system ahead of
/// time.
class Bodies {
 public:
  explicit Bodies(Slab<Job>& jobs) : jobs_(jobs) {}

  /// From now on bodies may be spilled when they and all else take more than `bytes_max` bytes of
  /// memory. `journal` outlives this. Without a call all bodies stay in memory.
  void spill_to(Journal& journal, std::size_t bytes_max);

  /// The log holds the bodies of new jobs already: those that would be too much stay there.
  void set_replaying(bool is_replaying) { is_replaying_ = is_replaying; }

  /// The job is new, with this body, which is copied, unless it was taken over.
  void keep(Job& job, std::string_view body);

  /// The body that is kept next.
  void take_over(std::unique_ptr<char[]> body) { taken_over_ = std::move(body); }

  /// There is a log to read bodies from, and so a limit of those in memory.
  [[nodiscard]] bool can_spill() const { return journal_ != nullptr; }
  /// True when bodies in memory and `other_bytes` of everything else are more than they may be.
  [[nodiscard]] bool is_too_much(std::size_t other_bytes);

  /// Frees the body, if it is in memory and the log has it.
  void spill(const Job& job);

  /// Reads the body back into memory, where it stays until the next call at least. Waits for the
  /// disk unless it was announced by `expect`. If it cannot be read, the job is without it until
  /// `try_again`, and `take_missing` tells.
  void load(const Job& job, JobSlot slot);
  /// The next `load` reads a missing body once more.
  void try_again(const Job& job) { job.is_body_missing = 0; }

  /// A body that could not be read.
  struct Missing {
    JobId job;
    std::string why;  ///< with its place in the log
    bool is_passing;  ///< the system failed to read it; else what it read is not what was written
  };
  [[nodiscard]] bool has_missing() const { return !missing_.empty(); }
  /// Those since the last call.
  [[nodiscard]] std::vector<Missing> take_missing() { return std::exchange(missing_, {}); }

  /// How many bodies were read back from the log. Grows only where it can be read at all.
  [[nodiscard]] std::uint64_t read_count() const { return read_count_; }

  /// Some could not be read, and may be later: until then nothing is to be written again without.
  void set_awaited(bool is_awaited) { is_awaited_ = is_awaited; }
  [[nodiscard]] bool is_awaited() const { return is_awaited_; }

  /// What the log holds of this body is damage, which the next replay would meet.
  void note_damage(const Job& job);
  /// Where the last of that ends; 0: there was none.
  [[nodiscard]] Lsn damage_end() const { return damage_end_; }

  /// It will be loaded soon: the system may read it meanwhile.
  void expect(const Job& job);

  /// The body is in memory.
  [[nodiscard]] BodyPin pin(const Job& job);

  /// The job is about to be removed.
  void forget(const Job& job);

  /// The memory that bodies take.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// The number of bodies that only the log has.
  [[nodiscard]] std::size_t spilled_count() const { return spilled_count_; }

 private:
  void leave_to_pin(const Job& job);

  Slab<Job>& jobs_;
  Journal* journal_ = nullptr;  ///< null: nothing is spilled
  std::size_t bytes_max_ = SIZE_MAX;
  std::size_t bytes_ = 0;
  std::size_t spilled_count_ = 0;
  std::size_t other_bytes_ = 0;  ///< of the last `is_too_much`
  bool is_replaying_ = false;
  std::unique_ptr<char[]> taken_over_;
  std::vector<std::weak_ptr<PinnedBody>> pins_;
  std::vector<Missing> missing_;
  std::uint64_t read_count_ = 0;
  bool is_awaited_ = false;
  Lsn damage_end_ = 0;

  struct Loaded {
    JobSlot slot;
    JobId id;
    std::uint32_t bytes;
  };
  std::size_t loaded_bytes_ = 0;
  std::deque<Loaded> loaded_;  ///< read back, the oldest first
};

/// Bodies that were read back may take this much, or a quarter of the limit if that is less.
inline constexpr std::size_t kLoadedBytesMax = std::size_t{8} << 20;

/// What an allocation takes besides its bytes, about.
inline constexpr std::size_t kAllocationBytes = 16;

}  // namespace millrace
