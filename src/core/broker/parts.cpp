#include "core/broker/parts.hpp"

namespace millrace {

BrokerParts::BrokerParts(Ledger& given, const WorkUnitFormat& format,
                         const Broker::Options& options)
    : ledger(given),
      admission(ledger),
      clients(ledger.store()),
      tracking(ledger, admission, format),
      events(ledger, tracking, tally),
      expired(ledger.store(), admission, events, tally),
      reservations(ledger, events, expired, format),
      waits(ledger.store(), clients, reservations, tally),
      moves(ledger, events, waits),
      new_jobs(
          {.ledger = ledger, .events = events, .moves = moves, .waits = waits, .tally = tally}),
      batch_callbacks(
          {.ledger = ledger, .admission = admission, .new_jobs = new_jobs, .tally = tally}),
      batch_lives(ledger, tally),
      retries({.ledger = ledger,
               .format = format,
               .admission = admission,
               .reservations = reservations,
               .events = events,
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
      cron(ledger, admission, tally),
      workers(clients, waits, ledger.store().throttles(), tally),
      slots({.ledger = ledger, .clients = clients, .waits = waits, .workers = workers.all()}),
      long_tasks({.ledger = ledger,
                  .admission = admission,
                  .moves = moves,
                  .waits = waits,
                  .pauses = pauses},
                 clients),
      view(ledger, clients.all(), workers.all(), tally) {}

}  // namespace millrace
