#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.hpp"

namespace millrace::journal {

/// What "durable" promises.
enum class SyncMode {
  kAlways,    ///< it survives a power cut
  kInterval,  ///< it survives the end of the process; a power cut, once the interval is over
  kOff,       ///< it survives the end of the process
};

struct FileJournalOptions {
  /// On a small volume segments are shorter: see `fitting_segment_bytes`.
  std::uint64_t segment_bytes = std::uint64_t{64} << 20;

  /// A segment should hold a batch of this length, even on a small volume.
  std::uint64_t long_batch_bytes = 0;

  /// How much of the disk is reserved, in segments, so that jobs can still end when the disk is
  /// full. With more than one, compaction can go on too.
  std::uint64_t reserved_segments = 0;

  SyncMode sync_mode = SyncMode::kAlways;
  std::chrono::milliseconds sync_interval{100};  ///< for kInterval

  /// Mixed into the checksums of new segments. nullopt: drawn from the system, so that no client
  /// can guess it and store a body that is taken for a frame.
  std::optional<std::uint64_t> salt = std::nullopt;

  /// Names this process among those that wrote to the log. nullopt: drawn from the system.
  std::optional<std::uint64_t> start_id = std::nullopt;

  /// Called once, on the writer's thread, when the disk has failed. Empty: writes the problem to
  /// stderr and calls `end_process`. A function that returns leaves a journal that stores nothing
  /// more: `durable()` stays as it is, and `sync` comes back at once.
  std::function<void(const Problem&)> on_failure = {};

  /// The writer has no thread of its own: the caller runs it with `step`. So a simulation can
  /// choose every order of events, and repeat it.
  bool is_stepped = false;
};

/// One part in so many of a volume is a segment at most; with long batches, one in
/// `kVolumeLongSegments`.
inline constexpr std::uint64_t kVolumeSegments = 32;
inline constexpr std::uint64_t kVolumeLongSegments = 16;

/// No volume is so small that it makes segments shorter.
inline constexpr std::uint64_t kSegmentBytesMin = std::uint64_t{1} << 20;

/// A new log needs a volume that long: for the reserve, and as much again for jobs.
inline constexpr std::uint64_t kVolumeBytesMin = std::uint64_t{8} << 20;

/// How long segments are on a volume of that length (0: unknown), so that the reserve is a small
/// share of it.
[[nodiscard]] inline std::uint64_t fitting_segment_bytes(const FileJournalOptions& options,
                                                         std::uint64_t volume_bytes) {
  if (volume_bytes == 0) return options.segment_bytes;
  const std::uint64_t fitting =
      std::max({kSegmentBytesMin, volume_bytes / kVolumeSegments,
                std::min(options.long_batch_bytes, volume_bytes / kVolumeLongSegments)});
  return std::min(options.segment_bytes, fitting);
}

}  // namespace millrace::journal
