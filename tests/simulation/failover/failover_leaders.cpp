#include <algorithm>
#include <set>

#include "simulation/audit/audit.hpp"
#include "simulation/failover/node.hpp"
#include "simulation/violation.hpp"

/// How the lead passes from one server of the failover simulation to another.
namespace millrace::simulation {

bool Failover::is_leader_awake() const {
  return leader_ != nullptr && leader_->node.is_awake(real_);
}

Time Failover::now() const {
  return leader_->node.clock.at(real_);
}

/// A claim of this server is in the log, and it has seen nothing after it.
void Failover::lead(Process& process) {
  Node& node = process.node;
  process.role.lead(process.journal.epoch());
  Time told = process.ledger.latest_time();
  if (options_.mistake == Mistake::kClockJumps) {
    const MergedDue due = process.ledger.store().scheduled();
    if (!due.empty()) told = std::max(told, (*due.begin()).when);
  }
  demand(told <= latest_append_, "the log tells of times to come");
  const Time latest = std::max(told, process.journal.latest_time());
  if (options_.mistake != Mistake::kClockRunsBack) node.clock.go_on_from(latest, real_);
  process.broker.set_wall_clock({.ahead = -node.clock.ahead()});
  process.broker.admin().set_worker_rules({}, node.clock.at(real_));
  process.term = std::make_unique<Term>(process);
  tell(node.name + " leads in epoch " + std::to_string(audit_.epoch()));
  const bool is_stale = static_cast<std::uint64_t>(process.term->epoch) != audit_.epoch();
  if (is_stale) {
    // Another claim has followed, which it does not know of. Nothing that it does has an effect.
    ++totals_.stale_leaders;
    return;
  }
  ++totals_.takeovers;
  totals_.batches_lost += audit_.forget_expected();
  leader_ = &process;
  check_taken_over();
  first_client_ = next_client_;
  model_.settle_times = [this] { settle(leader_->broker.view(), model_.facts); };
  model_.has_moved = [this](JobId id, const ModelJob& expected) {
    return has_moved(leader_->broker.view(), id, expected, first_client_);
  };
  // What has come due is done before the first client comes.
  process.term->turn.request();
  poll();
}

/// It has applied all that was stored before its claim.
void Failover::check_taken_over() {
  const View& view = leader_->broker.view();
  std::set<JobId> held;
  const std::string taken_over = stored_state(leader_->broker, held);
  demand(held.empty(), "a takeover brought back a connection's reservation");
  demand(stored_state(audit_.broker(), held) == taken_over,
         "the new leader's state is not what the log tells of");
  if (random_.one_in(4)) audit_.check_whole_log();
  model_.facts = audit_.facts();
  model_.set_wall_ahead(-leader_->node.clock.ahead());
  model_.restart();
  settle(view, model_.facts);
  compare(leader_->broker, model_, now());
  check_waits();
}

/// Nothing waits for longer than a client asked for, even if the clocks of two servers differ.
void Failover::check_waits() const {
  for (const auto& [id, job] : model_.facts.jobs) {
    const bool is_delayed = job.state == JobState::kScheduled && !job.follows_wall;
    const bool is_held = job.state == JobState::kReserved;
    if (!is_delayed && !is_held) continue;
    const std::chrono::seconds longest(is_delayed ? job.delay_s : job.ttr_s);
    demand(job.due <= now() + longest, "a takeover prolongs a delay or a reservation");
  }
}

/// Where it has applied all batches, it has the state that they tell of.
void Failover::check_standby(const Process& process) const {
  if (process.term || !audit_.is_all(process.applied, process.journal.figures().applied)) return;
  std::set<JobId> held;
  demand(stored_state(process.broker, held) == stored_state(audit_.broker(), held),
         "a standby's state is not what the log tells of");
}

/// By their own clocks, at the same moment.
void Failover::check_holders() const {
  const auto may_answer = [](const std::unique_ptr<Node>& node) {
    return node->is_alive() && node->process->may_answer();
  };
  demand(std::count_if(nodes_.begin(), nodes_.end(), may_answer) <= 1,
         "two servers may answer at the same time");
}

/// It may not know yet, and continues as before. Nothing that it does has an effect.
void Failover::step_deposed(Node& node) {
  Term& term = *node.process->term;
  if (random_.one_in(2)) return term.run();
  const std::unique_ptr<Client>& client = term.clients[random_.below(kFailoverClients)];
  if (!client || client->is_silent() || term.has_stood_down) return;
  ++totals_.unheard_commands;
  client->receive(client->is_worker() ? "INFO\r\n" : "stats-tube default\r\n",
                  node.clock.at(real_));
  term.turn.enlist(*client);
}

}  // namespace millrace::simulation
