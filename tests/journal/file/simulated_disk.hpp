#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "journal/file/file_system.hpp"

namespace millrace::journal {

/// A disk in memory that fails on demand, and that tells what was synced from what was only
/// written: a power cut keeps the one, and of the other some, nothing or parts.
///
/// It has one directory per path prefix and every parent exists.
class SimulatedDisk final : public FileSystem {
 public:
  // ---- faults -----------------------------------------------------------------------------------

  void fail_writes(bool fails);

  /// The disk gives none of these bytes of the file.
  void fail_reads(const std::string& path, std::uint64_t offset, std::uint64_t bytes);

  /// The disk has room for so many bytes; longer files are refused as out of space.
  void set_capacity(std::uint64_t bytes);
  /// From now on it has this much room besides what it holds.
  void leave_room(std::uint64_t bytes);
  /// Another program takes whatever is free, and what becomes free at once.
  void let_others_take_room();

  /// The failing sync stores nothing, and what it should have stored is never stored by a later
  /// one: reads of the file still show it. So do real systems.
  void fail_syncs(bool fails);

  /// The process has no more descriptors than these for files.
  void limit_open_files(std::uint64_t count);

  /// Somebody moves a locked directory away: its lock says so from now on. The files stay, as they
  /// do for the process that has the directory open.
  void take_away(const std::string& directory);

  /// The power fails during the `count`-th change from now on (1: the next one).
  void cut_power_at(std::uint64_t count);
  [[nodiscard]] bool is_powered();

  /// The disk as it comes up after a power cut.
  void restore_power(std::mt19937_64& random);

  /// Syncs wait until released. `wait_for_held_sync` returns when one does.
  void hold_syncs();
  void wait_for_held_sync();
  void release_syncs();

  // ---- looking on -------------------------------------------------------------------------------

  [[nodiscard]] std::uint64_t write_count();
  [[nodiscard]] std::uint64_t sync_count();
  [[nodiscard]] std::uint64_t list_count();

  /// Returns when `count` syncs have been made; false after 10 seconds.
  [[nodiscard]] bool wait_for_syncs(std::uint64_t count);

  [[nodiscard]] std::map<std::string, std::string> files();

  [[nodiscard]] std::uint64_t open_files() const { return open_files_; }

  /// Of all files together.
  [[nodiscard]] std::uint64_t bytes();
  [[nodiscard]] std::string contents(const std::string& path);
  void set_contents(const std::string& path, std::string bytes);
  void erase(const std::string& path);

  /// Changes stored bits unnoticed; nothing when the file is gone, or shorter.
  void flip(const std::string& path, std::size_t offset, char mask);

  // ---- the file system --------------------------------------------------------------------------

  Outcome<Done> ensure_directory(const std::string& path) override;
  Outcome<std::vector<std::string>> list(const std::string& directory) override;
  Outcome<std::unique_ptr<File>> create(const std::string& path) override;
  Outcome<std::unique_ptr<File>> open(const std::string& path, Access access) override;
  Outcome<Done> link(const std::string& path, const std::string& new_path) override;
  Outcome<Done> rename(const std::string& path, const std::string& new_path) override;
  Outcome<bool> has_other_name(const std::string& path) override;
  Outcome<Done> remove(const std::string& path) override;
  Outcome<std::uint64_t> free_space(const std::string& directory) override;
  /// What it says of its length; 0: nothing.
  std::uint64_t volume = 0;
  std::uint64_t volume_bytes(const std::string& /*directory*/) override { return volume; }
  Outcome<Done> sync_directory(const std::string& path) override;
  Outcome<std::unique_ptr<Lock>> lock(const std::string& directory) override;

 private:
  friend class SimulatedFile;
  friend class SimulatedLock;

  struct Change {
    std::uint64_t offset = 0;
    std::string bytes;                     ///< written at `offset`
    std::optional<std::uint64_t> resized;  ///< set: the file was cut or extended instead
  };
  struct Node {
    std::string now;
    std::string stored;
    std::vector<Change> unsynced;
    std::uint64_t unreadable_at = 0;
    std::uint64_t unreadable_bytes = 0;
  };
  using Names = std::map<std::string, std::shared_ptr<Node>>;

  /// Whether the file would have room if it became so long.
  [[nodiscard]] bool has_room(const Node& node, std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t used() const;  ///< under the mutex
  void lose_room();                          ///< under the mutex
  static void apply(const Change& change, std::string& bytes);
  static void survive(Node& node, std::mt19937_64& random);
  Outcome<Done> change(Node& node, Change change);
  Outcome<Done> sync(Node& node);
  /// Called before each change: a problem once the power is off.
  [[nodiscard]] std::optional<Problem> count_change();
  [[nodiscard]] bool is_locked(const std::string& directory);
  void unlock(const std::string& directory);

  std::mutex mutex_;
  std::condition_variable moved_;
  Names names_;
  Names stored_names_;
  std::set<std::string> locks_;
  std::optional<std::uint64_t> changes_left_;
  bool is_powered_ = true;
  std::uint64_t capacity_ = UINT64_MAX;
  bool others_take_room_ = false;
  bool fails_writes_ = false;
  std::uint64_t open_files_max_ = UINT64_MAX;
  bool fails_syncs_ = false;
  bool holds_syncs_ = false;
  std::uint64_t held_syncs_ = 0;
  std::atomic<std::uint64_t> open_files_ = 0;
  std::uint64_t writes_ = 0;
  std::uint64_t syncs_ = 0;
  std::uint64_t lists_ = 0;
};

}  // namespace millrace::journal
