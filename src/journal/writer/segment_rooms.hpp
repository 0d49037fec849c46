#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "core/model/types.hpp"
#include "journal/writer/log_writer.hpp"

namespace millrace::journal {

/// How long the newest segments are, or will be. The writer tells it, and who places batches asks,
/// on another thread. On a full disk a segment is as long as the file that it is made of.
class SegmentRooms {
 public:
  void tell(LogWriter::Rooms rooms);

  /// The length of the last of these segments, in bytes; nullopt: the usual length. The segments
  /// are in order, and the writer may not have begun the last ones yet.
  [[nodiscard]] std::optional<std::uint64_t> of_newest(const std::deque<Lsn>& segments) const;

 private:
  mutable std::mutex mutex_;
  LogWriter::Rooms rooms_;  ///< under the mutex
};

}  // namespace millrace::journal
