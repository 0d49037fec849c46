#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/entry_head.hpp"
#include "core/ports/shared_journal.hpp"
#include "journal/shared/log_service.hpp"

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

}  // namespace millrace::journal
