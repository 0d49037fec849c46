#pragma once

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
  std::uint64_t segment_bytes = std::uint64_t{64} << 20;

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

}  // namespace millrace::journal
