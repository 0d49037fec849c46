#include "simulation/failover/failover.hpp"

#include <algorithm>
#include <utility>

#include "simulation/failover/node.hpp"
#include "simulation/violation.hpp"

namespace millrace::simulation {
namespace {

/// So many parts of a lease without a leader are borne; and when nothing fails any more.
constexpr int kRoundsMax = 30;
constexpr int kCalmRoundsMax = 60;
constexpr int kRestRoundsMax = 400;

}  // namespace

Failover::Failover(Options options)
    : options_(std::move(options)),
      random_(options_.seed),
      workload_(random_, {}),
      audit_(log_, format_),
      conversation_(
          {.random = random_, .workload = workload_, .model = model_, .tell = options_.trace}),
      real_(std::chrono::seconds{1'700'000'000}),
      segment_bytes_(random_.pick(options_.segment_bytes)),
      memory_bytes_(random_.pick(options_.memory_bytes)),
      lease_(random_.pick(options_.leases)),
      log_name_(random_.draw() | 1),
      is_strict_(random_.one_in(4)) {
  totals_.worlds = 1;
  model_.set_finished_max(kFinished.jobs_max);
  log_.message_bytes_max = random_.pick(options_.message_bytes);
  log_.checks_expected_last = options_.mistake != Mistake::kNoFence;
  for (const char* const name : {"a", "b", "c"}) {
    nodes_.push_back(std::make_unique<Node>(name, random_));
    if (nodes_.size() == 2 && random_.one_in(3)) break;
  }
}

Failover::~Failover() {
  for (const std::unique_ptr<Node>& node : nodes_) {
    if (node->is_alive()) kill(*node);
  }
}

FailoverTotals Failover::totals() const {
  FailoverTotals totals = totals_;
  totals.claims = audit_.claims();
  totals.beats = audit_.beats();
  totals.strays = audit_.strays();
  totals.messages_trimmed = log_.begin() - 1;
  return totals;
}

void Failover::tell(const std::string& text) {
  if (options_.trace) options_.trace(text);
}

void Failover::run() {
  for (int term = 0; term < options_.terms; ++term) {
    come_to_serve();
    if (random_.one_in(6)) come_to_rest();
    is_calm_ = false;
    const std::uint64_t factor = random_.one_in(4) ? 10 : 1;
    const auto longest = factor * static_cast<std::uint64_t>(options_.steps_per_term);
    for (std::uint64_t steps = random_.between(1, longest); steps > 0; --steps) {
      step();
      check_holders();
    }
    if (leader_ != nullptr) strike(leader_->node);
  }
  come_to_serve();
  come_to_rest();
}

void Failover::step() {
  const std::uint64_t kind = random_.below(100);
  if (kind < 50) {
    if (is_leader_awake()) return client_step();
    pass(lease_ / 4);
  } else if (kind < 60) {
    poll();
  } else if (kind < 75) {
    work(any_node());
  } else if (kind < 85) {
    deliver(any_node(), Amount::kOne);
  } else if (kind < 90) {
    const std::uint64_t bound_ms = random_.one_in(8) ? 90'000 : random_.one_in(4) ? 3'000 : 50;
    pass(std::chrono::milliseconds(random_.below(bound_ms)));
  } else if (kind < 93) {
    deliver_orphan();
  } else if (kind < 98) {
    Node& node = any_node();
    const bool is_former =
        node.is_awake(real_) && node.process->term && node.process.get() != leader_;
    if (is_former) step_deposed(node);
  } else {
    if (random_.one_in(2)) strike(any_node());
  }
}

// ---- time ---------------------------------------------------------------------------------------

/// Time passes, and all servers do their work meanwhile, except what clients and deadlines ask for.
void Failover::pass(Duration by) {
  while (by > Duration{}) {
    // What fails meanwhile would have no place that is known, and what is due no time.
    const bool must_work = model_.is_working() || (is_leader_awake() && term().turn.is_paused());
    if (leader_ != nullptr && must_work) return poll();
    const Duration slice = std::min({by, lease_ / 5, longest_step()});
    if (slice <= Duration{}) return end_pause();
    by -= slice;
    real_ += slice;
    for (const std::unique_ptr<Node>& node : nodes_) {
      if (node->is_alive() && node->process->term) {
        node->process->term->clock.set(node->clock.at(real_));
        node->process->term->turn.request();
      }
    }
    for (int i = 0; i < 2; ++i) {
      for (const std::unique_ptr<Node>& node : nodes_) {
        work(*node);
        deliver(*node, Amount::kAll);
        check_holders();
      }
    }
  }
}

/// No two pauses of queues may end in one tick: which is served first is not foretold. Without
/// clients that does not matter; and a leader whose lease is over ends no pause, so time must pass.
Duration Failover::longest_step() const {
  if (leader_ == nullptr) return Duration::max();
  const auto& clients = leader_->term->clients;
  const bool has_clients = std::any_of(clients.begin(), clients.end(),
                                       [](const auto& client) { return client != nullptr; });
  if (!has_clients) return Duration::max();
  const Time end = model_.second_pause_end();
  if (end == kNever) return Duration::max();
  return leader_->node.clock.until(end - Duration{1}, real_);
}

/// Both would, so all clients leave.
void Failover::end_pause() {
  leader_->node.paused_until = {};
  poll();
  if (leader_ == nullptr || longest_step() > Duration{}) return;
  for (std::size_t slot = 0; slot < kFailoverClients; ++slot) {
    if (term().clients[slot]) disconnect(slot);
  }
  real_ += std::chrono::milliseconds(1);
  term().clock.set(now());
  term().turn.request();
  poll();
}

// ---- demands ------------------------------------------------------------------------------------

/// A server leads soon, when enough of them work again.
void Failover::come_to_serve() {
  for (int round = 0; !is_served(); ++round) {
    if (round == kRoundsMax) {
      tell("all faults end");
      heal();
    }
    demand(round < kRoundsMax + kCalmRoundsMax, "no server comes to lead");
    pass(lease_ / 4);
  }
}

bool Failover::is_served() const {
  return is_leader_awake() && leader_->may_answer();
}

/// Without faults, every client gets its replies, and every standby has what the log has.
void Failover::come_to_rest() {
  heal();
  std::string unrest = find_unrest();
  for (int round = 0; !unrest.empty(); ++round) {
    if (round == kRestRoundsMax) throw Violation("not all comes to rest: " + unrest);
    pass(lease_ / 4);
    poll();
    unrest = find_unrest();
  }
  for (const std::unique_ptr<Node>& node : nodes_) check_standby(*node->process);
  audit_.check_whole_log();
}

/// What is still to be done; empty: nothing is.
std::string Failover::find_unrest() const {
  if (!is_served()) return "nobody leads";
  if (!term().turn.is_at_rest()) return "the leader has work";
  for (const std::unique_ptr<Client>& client : term().clients) {
    if (client && !client->has_heard_all()) return "a client waits for a reply";
  }
  for (const std::unique_ptr<Node>& node : nodes_) {
    if (!node->is_alive()) return node->name + " does not start";
    const Process& process = *node->process;
    if (&process == leader_) continue;
    if (process.term) return node->name + " does not learn that it is deposed";
    if (!audit_.is_all(process.applied, process.journal.figures().applied)) {
      return node->name + " has not applied all: " + std::to_string(process.applied);
    }
  }
  return {};
}

}  // namespace millrace::simulation
