#pragma once

#include "core/broker/broker.hpp"
#include "core/ports/journal.hpp"
#include "core/state/ledger.hpp"
#include "server/process/clock.hpp"
#include "server/turn/commit_queue.hpp"
#include "server/turn/compactor.hpp"
#include "server/turn/ticker.hpp"
#include "server/turn/turn.hpp"

namespace millrace::server {

/// A turn, and all that it works with. `turn.run()` is called again and again, in one thread.
struct MainLoop {
  /// All outlive the loop.
  struct Parts {
    Broker& broker;
    Ledger& ledger;
    Journal& journal;
    Clock& clock;
    Input& input;
    Duties& duties;
    LoopStep* step = nullptr;  ///< see `Turn::Parts`
  };

  explicit MainLoop(Parts parts)
      : ticker(parts.broker),
        commits({.ledger = parts.ledger, .journal = parts.journal, .clock = parts.clock}),
        compactor(parts.ledger, parts.journal),
        turn({.broker = parts.broker,
              .ledger = parts.ledger,
              .journal = parts.journal,
              .clock = parts.clock,
              .ticker = ticker,
              .commits = commits,
              .compactor = compactor,
              .input = parts.input,
              .duties = parts.duties,
              .step = parts.step}) {}

  Ticker ticker;
  CommitQueue commits;
  Compactor compactor;
  Turn turn;
};

}  // namespace millrace::server
