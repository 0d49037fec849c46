#pragma once

#include "core/ports/shared_journal.hpp"
#include "core/state/ledger.hpp"

namespace millrace::server {

/// What a server does with a shared log while another one leads: applies what the leader appends,
/// and takes over. Its clients are the leader's (`relay/relay.hpp`).
class Standby {
 public:
  /// `ledger` has applied everything that `journal` replayed. Both must outlive it.
  Standby(Ledger& ledger, SharedJournal& journal) : ledger_(ledger), journal_(journal) {}

  /// Applies what has arrived since the last call, and takes the lead when nobody has it. Removes
  /// what its own cache of the log does not need any more. The answer and the problems are those of
  /// `SharedJournal::follow`.
  [[nodiscard]] Outcome<SharedJournal::Followed> work();

 private:
  Ledger& ledger_;
  SharedJournal& journal_;
};

}  // namespace millrace::server
