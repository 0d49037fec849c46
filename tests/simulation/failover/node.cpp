#include "simulation/failover/node.hpp"

#include <algorithm>
#include <utility>

#include "core/model/entry_head.hpp"
#include "simulation/audit/audit.hpp"
#include "simulation/failover/link.hpp"
#include "simulation/violation.hpp"

namespace millrace::simulation {
namespace {

/// What a server has to do at one time without anybody asking for more is far less.
constexpr std::size_t kTurnsMax = 2000;

/// Longer than any lease and its margin.
constexpr Duration kPatience = 60s;

}  // namespace

// ---- a process ----------------------------------------------------------------------------------

Failover::Process::Process(Failover& world_of, Node& on,
                           std::unique_ptr<journal::FileJournal> opened)
    : world(world_of),
      node(on),
      cache(*opened),
      journal(std::move(opened), std::make_unique<Link>(node.link, world.options_.mistake),
              {.node = node.name,
               .notes = {},
               .writer = world.random_.draw() | 1,
               .log = world.log_name_,
               .lease = world.lease_,
               .now = [this] { return node.clock.at(world.real_) + skew; },
               .place_bytes = world.segment_bytes_ / 2,
               .is_stepped = true}),
      standby_journal({.journal = journal,
                       .mistake = world.options_.mistake,
                       .skew = [this](Duration by) { skew = by; },
                       .patience = kPatience,
                       .on_applied =
                           [this](std::string_view entry) {
                             const auto head = take_head(entry);
                             if (!entry.empty()) applied = (*head)->sequence;
                           }}),
      broker(ledger, world.format_,
             Broker::Options{.random_seed = world.random_.draw(),
                             .lock_secret = {.low = world.random_.draw(), .high = 1},
                             .finished = kFinished}),
      standby(broker, standby_journal) {}

Failover::Process::~Process() = default;

bool Failover::Process::may_answer() const {
  if (!term || term->has_stood_down) return false;
  return world.options_.mistake == Mistake::kNoLease || journal.may_answer();
}

// ---- a leader -----------------------------------------------------------------------------------

Result<Journal::Span, Deposed> Failover::Recorder::append(Epoch epoch, RecordBatch batch) {
  std::string copy = batch;
  const Result<Span, Deposed> span = PassingJournal::append(epoch, std::move(batch));
  Failover& world = process_.world;
  world.latest_append_ = std::max(world.latest_append_, process_.node.clock.at(world.real_));
  if (!span || world.leader_ != &process_) return span;
  ++world.totals_.batches;
  demand(told_by_batch(copy) <= world.now(), "a record tells of a time to come");
  world.audit_.expect({.epoch = static_cast<std::uint64_t>(epoch),
                       .batch = std::move(copy),
                       .facts = world.model_.facts});
  if (world.options_.mistake == Mistake::kEarlyCache) process_.cache.release(span->end);
  return span;
}

Failover::Term::Term(Process& process_of)
    : process(process_of),
      world(process.world),
      epoch(*process.role.epoch()),
      wrapped_journal(world.options_.wrap_journal ? world.options_.wrap_journal(process.journal)
                                                  : nullptr),
      recorder(process, wrapped_journal ? *wrapped_journal : process.journal),
      beanstalk(process.broker, world.format_, {}, process.node.clock.at(world.real_)),
      faktory(process.broker, world.format_, {}, process.node.clock.at(world.real_)),
      main({.broker = process.broker,
            .ledger = process.ledger,
            .journal = recorder,
            .clock = clock,
            .input = *this,
            .duties = *this}) {
  clock.set(process.node.clock.at(world.real_));
  main.commits.lead(epoch);
}

void Failover::Term::run() {
  look_at_lease();
  for (std::size_t turns = 0; turn.has_work(); ++turns) {
    demand(turns < kTurnsMax, "the server does not come to rest");
    turn.run();
  }
}

void Failover::Term::look_at_lease() {
  const bool may_answer = process.may_answer();
  if (may_answer && !had_lease) ++world.totals_.resumed;
  had_lease = may_answer;
}

void Failover::Term::take(Duration longest) {
  demand(longest == Duration{}, "the server would wait");
  if (has_stood_down || turn.is_paused()) return;
  for (const std::unique_ptr<Client>& client : clients) {
    if (client && client->resume(clock.now())) turn.enlist(*client);
  }
}

void Failover::Term::let_go(Lsn durable) {
  for (const std::unique_ptr<Client>& client : clients) {
    if (client) client->let_go(durable);
  }
}

server::Compactor::Limits Failover::Term::set_limits(server::Compactor::Limits asked,
                                                     Time /*now*/) {
  demand(asked.admission == Admission::kEverything, "there is room for the cache");
  return asked;
}

}  // namespace millrace::simulation
