#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "core/model/entry_head.hpp"
#include "core/model/types.hpp"
#include "core/ports/shared_journal.hpp"
#include "journal/file_journal.hpp"
#include "journal/shared/entry_places.hpp"
#include "journal/shared/log_pump.hpp"
#include "journal/shared/log_service.hpp"
#include "journal/shared/replicated_journal_options.hpp"

namespace millrace::journal {

/// What the heads of a log's entries tell, which are noted in their order: how the log is called,
/// who leads, and who led before.
class LogHistory {
 public:
  using Leader = SharedJournal::Leader;
  using Takeover = SharedJournal::Takeover;

  /// Why an entry does not fit.
  struct Misfit {
    std::string what;                 ///< follows "entry 5 of the log "
    bool is_of_another_past = false;  ///< it follows on other entries than those that were noted
  };

  /// Whether the entry does not count. A leader sends an entry behind others that are not answered
  /// yet. When those are refused, since another server's entry has taken their place, and that ends
  /// just where they would have ended, the service stores this one all the same. Its writer does
  /// not take it for stored, and nobody else may: it is of a former leader, or not right behind
  /// what its writer appended before. A claim is never sent behind anything.
  [[nodiscard]] bool is_stray(const EntryHead& head) const;

  /// The next entry that counts. nullopt: it fits.
  [[nodiscard]] std::optional<Misfit> note(const EntryHead& head);
  /// The last message of that entry.
  void note_end(Sequence last) { end_ = last; }

  [[nodiscard]] std::uint64_t log() const { return log_; }
  [[nodiscard]] Epoch epoch() const { return epoch_; }
  [[nodiscard]] const std::optional<Leader>& leader() const { return leader_; }
  [[nodiscard]] Duration leader_lease() const { return leader_lease_; }
  [[nodiscard]] const std::vector<Takeover>& takeovers() const { return takeovers_; }
  [[nodiscard]] Time latest_time() const { return latest_time_; }

 private:
  void note_takeover(const EntryHead& head);
  void note_leader(const EntryHead& head);

  std::uint64_t log_ = 0;     ///< its name; 0: no entry was noted
  Sequence end_ = 0;          ///< the last message that counts
  Epoch epoch_{};             ///< of the last entry
  std::uint64_t writer_ = 0;  ///< the process that leads in it
  std::optional<Leader> leader_;
  Duration leader_lease_{};  ///< as the leader told it; none: not known
  std::vector<Takeover> takeovers_;
  Time latest_time_{};
};

/// Tells a server that follows when the leader's lease is over for certain.
class LeaseWatch {
 public:
  void begin(Time now) { quiet_since_ = sent_until_ = now; }

  /// An entry has arrived.
  void note(const EntryHead& head, Time now) {
    quiet_since_ = now;
    // After an outage of the service, the last entries of a leader may arrive long after they were
    // sent. Its clock tells how long after the entry before, and the margin of a lease allows for a
    // clock that does not run like ours.
    Time until = now;
    if (!head.is_claim() && sent_at_) {
      const Duration since = std::max(Duration{}, head.at - *sent_at_);
      until = std::min(until, sent_until_ + since + lease_margin(since));
    }
    sent_until_ = until;
    sent_at_ = head.at;
  }

  [[nodiscard]] bool is_over(Duration lease, Time now) const {
    const Time lease_end = sent_until_ + lease + lease_margin(lease);
    // After an outage of the service a leader that is well can append again first.
    return now >= std::max(lease_end, quiet_since_ + beat_interval(lease));
  }

  /// When something new arrived last.
  [[nodiscard]] Time quiet_since() const { return quiet_since_; }

 private:
  Time quiet_since_{};
  std::optional<Time> sent_at_;  ///< the last entry, by the clock of its writer
  Time sent_until_{};            ///< by ours it was sent until then
};

/// Notices when a server that follows has caught up with the log. To have what the log had at the
/// start says little after a minute of reading. So where the log ends is asked anew, until there is
/// little to read in between.
class CatchUp {
 public:
  /// Asks through a pump that outlives it.
  explicit CatchUp(LogPump& pump) : pump_(pump) {}

  /// The log ended at `end` when it was asked at `asked_at`, or after that.
  void begin(Sequence end, Time asked_at);
  /// The server has everything up to `seen`.
  void look(Sequence seen, Time now);
  /// Whether it had, once, everything that the log had `kCaughtUpWithin` before.
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  LogPump& pump_;
  Sequence end_ = 0;  ///< of the log, when it was asked last
  Time asked_at_{};   ///< that was then, or later
  bool is_asking_ = false;
  bool is_over_ = false;
};

inline constexpr Duration kCaughtUpWithin = std::chrono::seconds(1);

/// What a server that shares a log does before it leads: it reads the cache and then what arrives,
/// hands that on, writes it to the cache, and claims the lead when nobody leads.
class LogFollower {
 public:
  using Followed = SharedJournal::Followed;
  using Visitor = Journal::Visitor;

  /// All must outlive it.
  struct Parts {
    const ReplicatedJournalOptions& options;
    LogService& service;
    FileJournal& cache;
    LogPump& pump;
    EntryPlaces& places;
  };

  explicit LogFollower(Parts parts) : parts_(parts), catch_up_(parts.pump) {}

  // As those of the journal:
  [[nodiscard]] Outcome<Done> replay(const Visitor& visitor);
  [[nodiscard]] Outcome<Followed> follow(const Visitor& visitor);
  [[nodiscard]] bool has_caught_up() const { return catch_up_.is_over(); }
  [[nodiscard]] bool is_cache_useless() const { return is_cache_useless_; }
  [[nodiscard]] bool hears_leader() const;
  [[nodiscard]] bool may_claim() const;
  void claim();
  [[nodiscard]] std::string problem() const;

  /// What was read.
  [[nodiscard]] const LogHistory& history() const { return history_; }
  /// The last message of the last entry that was handed over.
  [[nodiscard]] Sequence last() const { return last_; }
  /// After `Followed::kLeads`: this server's claim, which is the last entry.
  [[nodiscard]] const EntryHead& own_claim() const { return *own_claim_; }

 private:
  Outcome<Done> take_cached(std::string_view entry, Lsn begin);
  Outcome<Done> begin();
  Outcome<Done> take_entry(const LogService::Entry& entry, const Visitor& visitor);
  Outcome<Done> note(const EntryHead& head);
  [[nodiscard]] bool is_of_namesake(const EntryHead& head) const;
  Outcome<Done> verify_cache(const EntryHead& head);
  Problem other_history(Sequence sequence, const std::string& what);
  Outcome<Followed> report_broken();

  const Parts parts_;
  LogHistory history_;
  LeaseWatch lease_watch_;
  CatchUp catch_up_;
  Sequence last_ = 0;
  Sequence seen_ = 0;                ///< the log was looked at up to here
  Sequence former_end_ = 0;          ///< where the log ended at the start
  std::optional<EntryHead> cached_;  ///< the cache's last entry, until it was found in the log
  bool had_cache_ = false;           ///< something was read from it
  bool is_cache_useless_ = false;
  std::optional<Problem> broken_;
  bool has_other_history_ = false;      ///< that is why it is broken, and reading anew helps
  std::optional<Time> started_at_;      ///< when it began to follow
  std::optional<EntryHead> own_claim_;  ///< the last entry in the log
  std::optional<Time> claimed_at_;      ///< last; an engine without a leader refuses at once
};

/// A server that has read another history than the log has now reads it anew when it has followed
/// for so long: a log that changes again and again does not keep it busy.
inline constexpr Duration kReadAnewAfter = std::chrono::seconds(10);

}  // namespace millrace::journal
