#include "simulation/failover/failover.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "server/role/replay.hpp"
#include "simulation/audit.hpp"
#include "simulation/failover/node.hpp"
#include "simulation/violation.hpp"

namespace millrace::simulation {
namespace {

/// What a server has to do at one time without anybody asking for more is far less.
constexpr std::size_t kTurnsMax = 2000;

/// A standby claims again and again, and each time something may have been appended meanwhile.
constexpr int kClaimsMax = 1000;

}  // namespace

FailoverTotals& FailoverTotals::operator+=(const FailoverTotals& other) {
  worlds += other.worlds;
  operations += other.operations;
  replies += other.replies;
  batches += other.batches;
  batches_lost += other.batches_lost;
  takeovers += other.takeovers;
  claims_behind += other.claims_behind;
  answers_lost += other.answers_lost;
  fallen_behind += other.fallen_behind;
  unheard_commands += other.unheard_commands;
  segments_removed += other.segments_removed;
  return *this;
}

Failover::Term::Term(Failover& world_of, Node& node)
    : world(world_of),
      wrapped_journal(world.options_.wrap_journal ? world.options_.wrap_journal(*node.journal)
                                                  : nullptr),
      recorder(world, wrapped_journal ? *wrapped_journal : *node.journal),
      beanstalk(*node.broker, world.format_, {}, world.now_),
      faktory(*node.broker, world.format_, {}, world.now_),
      main({.broker = *node.broker,
            .ledger = *node.ledger,
            .journal = recorder,
            .clock = clock,
            .input = *this,
            .duties = *this}) {
  clock.set(world.now_);
  main.commits.lead(*node.role.epoch());
}

void Failover::Term::run() {
  for (std::size_t turns = 0; turn.has_work(); ++turns) {
    demand(turns < kTurnsMax, "the server does not come to rest");
    turn.run();
  }
}

void Failover::Term::take(Duration longest) {
  demand(longest == Duration{}, "the server would wait");
}

server::Compactor::Limits Failover::Term::set_limits(server::Compactor::Limits asked,
                                                     Time /*now*/) {
  demand(asked.admission == Admission::kEverything, "a log without a disk has room");
  return asked;
}

Failover::Failover(Options options)
    : options_(std::move(options)),
      random_(options_.seed),
      workload_(random_, {}),
      conversation_(
          {.random = random_, .workload = workload_, .model = model_, .tell = options_.trace}),
      now_(std::chrono::seconds{1'700'000'000}),
      segment_bytes_(random_.pick(options_.segment_bytes)),
      memory_bytes_(random_.pick(options_.memory_bytes)),
      shadow_(std::make_unique<Shadow>(format_)) {
  totals_.worlds = 1;
  log_.checks_expected_end = !options_.stores_old_epochs;
  log_.loss = [this] {
    using Loss = journal::SharedLog::Loss;
    if (!random_.one_in(20)) return Loss::kNone;
    ++totals_.answers_lost;
    return random_.one_in(2) ? Loss::kRequest : Loss::kAnswer;
  };
  nodes_[0] = std::make_unique<Node>("a");
  nodes_[1] = std::make_unique<Node>("b");
  for (const std::unique_ptr<Node>& node : nodes_) start_over(*node);
}

Failover::~Failover() = default;

void Failover::tell(const std::string& text) {
  if (options_.trace) options_.trace(text);
}

void Failover::run() {
  for (int term = 0; term < options_.terms; ++term) {
    take_over(leader_ == nodes_[0].get() ? *nodes_[1] : *nodes_[0]);
    const std::uint64_t factor = random_.one_in(4) ? 10 : 1;
    const auto longest = factor * static_cast<std::uint64_t>(options_.steps_per_term);
    is_standby_asleep_ = random_.one_in(2);
    for (std::uint64_t steps = random_.between(1, longest); steps > 0; --steps) step();
  }
  // Once more, so that the last leader is checked as the others are.
  take_over(leader_ == nodes_[0].get() ? *nodes_[1] : *nodes_[0]);
}

// ---- leadership ---------------------------------------------------------------------------------

/// Reads the whole log, as a server that has just started.
void Failover::start_over(Node& node) {
  if (node.term) totals_.segments_removed += node.term->main.compactor.removed_segments();
  node.term.reset();
  node.standby.reset();
  node.journal = std::make_unique<journal::SharedLogJournal>(
      log_, segment_bytes_, journal::SharedLogJournal::Sending::kStepped);
  node.ledger = std::make_unique<Ledger>();
  node.broker = std::make_unique<Broker>(*node.ledger, format_,
                                         Broker::Options{.random_seed = random_.draw()});
  if (memory_bytes_ != 0) node.ledger->memory().limit(*node.journal, memory_bytes_);
  const Outcome<std::uint64_t> replayed = server::replay(*node.journal, *node.ledger, [](Lsn) {});
  demand(replayed.has_value(), "the log cannot be replayed");
  node.standby = std::make_unique<server::Standby>(*node.ledger, *node.journal);
  node.role.has_replayed();
  tell(std::string(node.name) + " has read the log");
}

void Failover::follow(Node& node) {
  const Outcome<bool> followed = node.standby->follow();
  demand(followed.has_value(), "a batch cannot be applied");
  if (*followed) return;
  ++totals_.fallen_behind;
  node.role.start_over();
  start_over(node);
}

/// `next` becomes the leader, whatever the present one is about to do.
void Failover::take_over(Node& next) {
  end_deposed();
  Lsn log_end = log_.end();
  for (int tries = 0;; ++tries) {
    demand(tries < kClaimsMax, "a standby never gets to lead");
    log_end = log_.end();
    const auto epoch =
        options_.claims_unread ? next.journal->claim(log_end) : next.standby->claim();
    if (epoch) {
      next.role.lead(*epoch);
      break;
    }
    using Refusal = SharedJournal::ClaimRefusal;
    if (epoch.error() == Refusal::kBehind) ++totals_.claims_behind;
    follow(next);
  }
  tell(std::string(next.name) + " leads");
  if (leader_ != nullptr) ++totals_.takeovers;
  deposed_ = leader_;
  leader_ = &next;
  check_taken_over(next, log_end);
  first_client_ = next_client_;
  next.term = std::make_unique<Term>(*this, next);
  model_.settle_times = [this] { settle(leader_->broker->view(), model_.facts); };
  model_.has_moved = [this](JobId id, const ModelJob& expected) {
    const Job* const job = leader_->broker->view().find(id);
    if (job == nullptr || job->state != expected.state || job->when != expected.due) return true;
    // Connections are numbered by the broker, from 1.
    const auto holder = static_cast<ClientId>(expected.client - first_client_ + 1);
    return expected.client != 0 && job->reservation()->client != holder;
  };
  // What has come due is done before the first client comes.
  next.term->turn.request();
  poll();
}

/// The log has a beginning of what the former leader appended, and the new one has applied it.
void Failover::check_taken_over(const Node& next, Lsn log_end) {
  std::set<JobId> held;
  const std::string taken_over = stored_state(next.broker->view(), held);
  demand(held.empty(), "a takeover brought back a connection's reservation");
  while (!landmarks_.empty() && landmarks_.front().span.end <= log_end) {
    const Landmark& stored = landmarks_.front();
    const Outcome<Done> replayed = shadow_->ledger.replay(stored.batch, stored.span.begin);
    demand(replayed.has_value(), "a batch cannot be replayed");
    ++shadow_point_;
    facts_ = stored.facts;
    landmarks_.pop_front();
  }
  model_.facts = facts_;
  totals_.batches_lost += landmarks_.size();
  landmarks_.clear();
  demand(shadow_point_ >= known_point_, "what a client was told of is not in the log");
  demand(stored_state(shadow_->broker.view(), held) == taken_over,
         "the new leader's state is not what the log has of the former one");
  known_point_ = shadow_point_;
  check_whole_log(taken_over);
  model_.restart();
  settle(next.broker->view(), model_.facts);
  compare(next.broker->view(), model_, now_);
}

/// Whoever reads the log now gets that state.
void Failover::check_whole_log(const std::string& expected) {
  journal::SharedLogJournal journal(log_, segment_bytes_,
                                    journal::SharedLogJournal::Sending::kStepped);
  Shadow reader(format_);
  demand(server::replay(journal, reader.ledger, [](Lsn) {}).has_value(),
         "the log cannot be replayed");
  std::set<JobId> held;
  demand(stored_state(reader.broker.view(), held) == expected,
         "two servers that read the same log are not in the same state");
}

// ---- a leader that is none any more -------------------------------------------------------------

/// It may not know yet, and continues as before. Nothing that it does has an effect.
void Failover::step_deposed() {
  Term& term = *deposed_->term;
  const std::uint64_t kind = random_.below(100);
  if (kind < 30) {
    (void)deposed_->journal->step();
  } else if (kind < 60) {
    term.run();
  } else if (kind < 95) {
    const std::unique_ptr<Client>& client = term.clients[random_.below(kFailoverClients)];
    if (!client || client->is_silent() || term.has_stood_down) return;
    ++totals_.unheard_commands;
    client->receive(client->is_worker() ? "INFO\r\n" : "stats-tube default\r\n", now_);
    term.turn.enlist(*client);
  } else {
    end_deposed();
  }
}

/// It learns of it at the latest when it does something, and follows again.
void Failover::end_deposed() {
  if (deposed_ == nullptr) return;
  Node& node = *std::exchange(deposed_, nullptr);
  node.term->turn.request();
  node.term->run();
  demand(node.term->has_stood_down, "a deposed leader does not learn of it");
  node.role.start_over();
  start_over(node);
}

}  // namespace millrace::simulation
