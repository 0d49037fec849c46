#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "core/model/entry_head.hpp"
#include "core/model/types.hpp"

namespace millrace::journal {

struct ReplicatedJournalOptions {
  std::string node;          ///< the name of this server among those that share the log
  std::string notes;         ///< what other servers are to know of it
  std::uint64_t writer = 0;  ///< random: names this process
  std::uint64_t log = 0;     ///< random: names the log, if this server is the first in it
  Duration lease = std::chrono::seconds(1);
  std::function<Time()> now;  ///< the server's clock; asked by its thread only, and
                              ///< by the destructor

  /// Claims with `EntryHead::Kind::kHold`: no server leads until it releases, even if it ends.
  bool holds = false;

  /// Of the entries in so many bytes of the cache, the place of one is remembered: so far the log
  /// is trimmed.
  std::uint64_t place_bytes = 64 * 1024;

  /// The pump has no thread of its own: `step` runs it. So a simulation chooses every order.
  bool is_stepped = false;

  /// The head of an entry that is made now. Log, sequence and epoch are still to come.
  [[nodiscard]] EntryHead new_head(EntryHead::Kind kind) const {
    EntryHead head{.kind = kind, .at = now(), .writer = writer, .node = {}, .notes = {}};
    if (kind == EntryHead::Kind::kBatch) return head;
    head.node = node;
    head.notes = notes;
    head.lease_ms = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(lease).count());
    return head;
  }
};

/// A server that follows claims the lead when it has heard nothing for so much longer than the
/// lease. Clocks that run apart by less than that in a lease do no harm.
inline constexpr Duration lease_margin(Duration lease) {
  return lease / 4;
}

/// A leader with nothing to append beats so often.
inline constexpr Duration beat_interval(Duration lease) {
  return lease / 4;
}

}  // namespace millrace::journal
