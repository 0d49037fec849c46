#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "journal/file/simulated_disk.hpp"
#include "simulation/random.hpp"

namespace millrace::simulation {

/// What goes wrong.
enum class Fault {
  kPowerCut,     ///< the power fails during a change: what was not synced may be lost or torn
  kKill,         ///< the process ends during a change: of a write, a beginning may be there
  kFailedWrite,  ///< of a write a beginning is stored, and the process is told that it failed
  kFailedSync,   ///< a sync fails, and what it should have stored is lost for good
  kFullDisk,     ///< from now on there is no room for more than there is
  kFailedRead,   ///< a read says that it failed
  kShortRead,    ///< a read brings less than is there
  kDecay,        ///< a bit of what was stored flips while the process lives
};
inline constexpr std::size_t kFaultCount = 8;

/// The simulated disk as one process after the other sees it: each has its fault, and once it is
/// dead nothing that it does reaches the disk.
class FaultyDisk final : public journal::FileSystem {
 public:
  FaultyDisk(journal::SimulatedDisk& disk, Random& random) : disk_(disk), random_(random) {}

  /// Called before each change of the disk: what the rest of the process does meanwhile.
  std::function<void()> on_change;
  /// Called before it is full. Anything but the process leaves the disk.
  std::function<void()> on_full;

  /// The fault happens at the `count`-th operation from now on (1: the next one) that it can
  /// happen to.
  void plan(Fault fault, std::uint64_t count);
  void plan_none() { fault_.reset(); }

  /// Reads by the test, not by the process, meet no faults meanwhile.
  void set_watched(bool is_watched) { is_watched_ = is_watched; }

  /// The process ends. Nothing reaches the disk any more.
  void die() { is_dead_ = true; }
  [[nodiscard]] bool is_dead() const { return is_dead_; }

  /// About how long the files are that are written: a full disk leaves about as much.
  void set_scale(std::uint64_t bytes) { scale_bytes_ = bytes; }

  /// The disk is always so small, and may be full without a fault.
  void set_size(std::uint64_t bytes) { size_ = bytes; }

  /// The disk has room again for whatever comes, or as much as it ever has.
  void make_room();
  /// And now for whatever comes, until the process ends.
  void make_endless();
  /// What was kept back when the disk became full.
  [[nodiscard]] std::uint64_t spare_when_filled() const { return spare_when_filled_; }
  [[nodiscard]] bool is_full() const { return is_full_; }
  /// Another program takes what becomes free.
  [[nodiscard]] bool has_rival() const { return is_full_ && has_rival_; }
  /// It was full since the process began.
  [[nodiscard]] bool was_full() const { return was_full_ || size_ != UINT64_MAX; }

  /// The planned fault has happened.
  [[nodiscard]] bool has_struck() const { return has_struck_; }

  /// True when it is time for this fault.
  bool strikes(Fault fault);

  /// The next process begins, after a power cut or not. There is room on the disk again.
  void revive(bool is_power_cut);

  [[nodiscard]] std::uint64_t change_count() const { return changes_; }

  journal::SimulatedDisk& inner() { return disk_; }

  Outcome<Done> ensure_directory(const std::string& path) override;
  Outcome<std::vector<std::string>> list(const std::string& directory) override;
  Outcome<std::unique_ptr<journal::File>> create(const std::string& path) override;
  Outcome<std::unique_ptr<journal::File>> open(const std::string& path, Access access) override;
  Outcome<Done> rename(const std::string& path, const std::string& new_path) override;
  Outcome<bool> has_other_name(const std::string& path) override;
  Outcome<Done> remove(const std::string& path) override;
  Outcome<std::uint64_t> free_space(const std::string& directory) override;
  Outcome<Done> sync_directory(const std::string& path) override;
  Outcome<std::unique_ptr<journal::Lock>> lock(const std::string& directory) override;

 private:
  friend class FaultyFile;

  /// What becomes of a change.
  enum class Fate { kHappens, kHalfHappens, kNever };

  Fate begin_change();
  void fill_up();
  void let_rival_write();
  Outcome<Done> change(const std::function<Outcome<Done>()>& act);

  journal::SimulatedDisk& disk_;
  Random& random_;
  std::optional<Fault> fault_;
  std::uint64_t countdown_ = 0;
  bool has_struck_ = false;
  bool is_dead_ = false;
  bool is_watched_ = false;
  std::uint64_t spare_when_filled_ = 0;
  std::uint64_t scale_bytes_ = 0;
  std::uint64_t size_ = UINT64_MAX;
  bool is_full_ = false;
  bool has_rival_ = false;  ///< while it is full: others take what becomes free, and give some back
  bool was_full_ = false;
  std::uint64_t changes_ = 0;
};

}  // namespace millrace::simulation
