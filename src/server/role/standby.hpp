#pragma once

#include "core/broker/broker.hpp"
#include "core/ports/shared_journal.hpp"

namespace millrace::server {

/// What a server does with a shared log while another one leads: applies what the leader appends,
/// and takes over. Its clients are the leader's (`relay/relay.hpp`).
class Standby {
 public:
  /// The ledger of `broker` has applied everything that `journal` replayed. Both must outlive it.
  Standby(Broker& broker, SharedJournal& journal) : broker_(broker), journal_(journal) {}

  /// Applies what has arrived since the last call, and takes the lead when nobody has it. Removes
  /// what its own cache of the log does not need any more. The answer and the problems are those of
  /// `SharedJournal::follow`.
  [[nodiscard]] Outcome<SharedJournal::Followed> work(Time now);

 private:
  Broker& broker_;
  SharedJournal& journal_;
};

}  // namespace millrace::server
