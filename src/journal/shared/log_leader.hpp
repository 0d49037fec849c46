#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

#include "base/result.hpp"
#include "core/model/entry_head.hpp"
#include "core/model/meter.hpp"
#include "core/ports/shared_journal.hpp"
#include "journal/file_journal.hpp"
#include "journal/shared/entry_places.hpp"
#include "journal/shared/log_pump.hpp"
#include "journal/shared/log_service.hpp"
#include "journal/shared/replicated_journal_options.hpp"

namespace millrace::journal {

/// What a server does that leads a shared log: it appends, learns what is stored, and keeps its
/// lease.
class LogLeader {
 public:
  /// All must outlive it.
  struct Parts {
    const ReplicatedJournalOptions& options;
    const LogService& service;
    FileJournal& cache;
    LogPump& pump;
    EntryPlaces& places;
  };

  /// Its claim ends at `last` in the log, and everything before that is in the cache.
  LogLeader(Parts parts, const EntryHead& claim, Sequence last);

  // As those of the journal:
  [[nodiscard]] Epoch epoch() const;
  [[nodiscard]] Result<Journal::Span, Deposed> append(Epoch epoch, std::string_view batch);
  [[nodiscard]] std::size_t in_flight();
  [[nodiscard]] Lsn durable();
  [[nodiscard]] bool may_answer();
  [[nodiscard]] Time may_answer_until();
  [[nodiscard]] Time lost_at();
  [[nodiscard]] Time next_beat() const;
  void beat();
  void release();
  void sync();

  /// Fills in what a leader knows.
  void tell(SharedJournal::Figures& figures);

  /// Looks at what the service has stored since: that may be written to the cache, and it is what
  /// the lease counts from.
  void note_stored();

 private:
  struct Sent {
    Lsn end = 0;
    Sequence last = 0;
    Time at{};
  };

  Journal::Span put(EntryHead::Kind kind, std::string_view batch);

  const Parts parts_;
  const std::uint64_t log_;
  const Epoch epoch_;
  const Lsn led_from_;  ///< everything in the cache before it is stored
  Sequence last_;       ///< of the last entry that was appended
  bool has_released_ = false;
  Time last_append_at_;
  Time last_beat_at_;
  std::deque<Sent> sent_;  ///< and not stored, as far as was looked
  Lsn released_ = 0;       ///< the cache may have everything before it
  Time lease_from_;        ///< when what was stored last was appended
  Sequence stored_last_;   ///< the last message of that
  Histogram appends_;      ///< how long each took
  Duration last_append_{};
};

}  // namespace millrace::journal
