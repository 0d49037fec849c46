#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace millrace {

/// The room of a log that a disk may have no more of. Called from the thread that appends.
class DiskSpace {
 public:
  virtual ~DiskSpace() = default;

  /// True while the disk has no room but what is reserved for ending jobs: new jobs must be
  /// refused. A change is told by the wake-up of `Journal::on_durable`.
  [[nodiscard]] virtual bool is_full() const = 0;

  /// While the disk is full: what the system said when there was no room. Empty when there only was
  /// less than the reserve needs.
  [[nodiscard]] virtual std::string problem() const { return {}; }

  /// While the disk is full: how long the log can become, in bytes, from its beginning.
  [[nodiscard]] virtual std::uint64_t log_bytes_max() const = 0;

  /// While the disk is full: somebody else, such as a backup, keeps the oldest segment too, so to
  /// trim it makes no room.
  [[nodiscard]] virtual bool is_oldest_shared() const = 0;

  /// How many segments the log has.
  [[nodiscard]] virtual std::size_t segment_count() const = 0;
};

}  // namespace millrace
