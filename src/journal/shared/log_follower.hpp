#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/model/entry_head.hpp"
#include "core/ports/shared_journal.hpp"
#include "journal/file_journal.hpp"
#include "journal/shared/catch_up.hpp"
#include "journal/shared/entry_places.hpp"
#include "journal/shared/lease_watch.hpp"
#include "journal/shared/log_history.hpp"
#include "journal/shared/log_pump.hpp"
#include "journal/shared/log_service.hpp"
#include "journal/shared/replicated_journal_options.hpp"

namespace millrace::journal {

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
