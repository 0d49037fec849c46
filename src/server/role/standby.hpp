#pragma once

#include "core/ports/shared_journal.hpp"
#include "core/state/ledger.hpp"

namespace millrace::server {

/// What a server does with a shared log while another one leads: applies what the leader appends,
/// and takes over. There are no clients yet.
class Standby {
 public:
  /// `ledger` has applied everything that `journal` replayed. Both must outlive it.
  Standby(Ledger& ledger, SharedJournal& journal)
      : ledger_(ledger), journal_(journal), applied_(journal.durable()) {}

  /// Applies what has become durable since the last call. False: the log was trimmed beyond what is
  /// applied, so all of it must be read anew. A problem: a batch cannot be applied.
  [[nodiscard]] Outcome<bool> follow();

  /// Takes the lead. Refused where something is not applied yet.
  [[nodiscard]] Result<Epoch, SharedJournal::ClaimRefusal> claim() {
    return journal_.claim(applied_);
  }

  /// Where the next batch to apply will begin.
  [[nodiscard]] Lsn applied() const { return applied_; }

 private:
  Ledger& ledger_;
  SharedJournal& journal_;
  Lsn applied_;
};

}  // namespace millrace::server
