#include "core/broker/parts.hpp"

namespace millrace {

BrokerParts::BrokerParts(Ledger& given, const WorkUnitFormat& format,
                         const Broker::Options& options)
    : ledger(given),
      admission(ledger),
      clients(ledger.store()),
      reservations(ledger, format),
      waits(ledger.store(), clients, reservations, tally),
      moves(ledger, waits),
      retries({.ledger = ledger,
               .format = format,
               .admission = admission,
               .reservations = reservations,
               .moves = moves},
              options.random_seed),
      schedule(ledger.store(), admission, moves, tally),
      expiry({.store = ledger.store(),
              .admission = admission,
              .moves = moves,
              .retries = retries,
              .tally = tally}),
      dead_set(ledger.store(), moves, tally, options.dead_jobs_max),
      pauses(ledger, admission, waits),
      workers(clients, waits, tally),
      long_tasks({.ledger = ledger,
                  .admission = admission,
                  .moves = moves,
                  .waits = waits,
                  .pauses = pauses},
                 clients),
      view(ledger, clients.all(), workers.all(), tally) {}

}  // namespace millrace
