#include <algorithm>

#include "simulation/audit.hpp"
#include "simulation/failover/node.hpp"
#include "simulation/violation.hpp"

/// What happens to a leader of the failover simulation, and what its clients say.
namespace millrace::simulation {
namespace {

const std::string kFailoverWids[] = {"worker-a", "worker-b"};

}  // namespace

void Failover::step() {
  const std::uint64_t kind = random_.below(100);
  if (deposed_ != nullptr && kind < 25) return step_deposed();
  if (kind < 60) return client_step();
  if (kind < 75) {
    (void)leader_->journal->step();
  } else if (kind < 90) {
    poll();
  } else if (kind < 95) {
    advance();
  } else if (deposed_ == nullptr && !is_standby_asleep_) {
    for (const std::unique_ptr<Node>& node : nodes_) {
      if (node.get() != leader_) follow(*node);
    }
  }
}

void Failover::advance() {
  // What fails meanwhile would have no place that is known, and what is due no time.
  if (model_.is_working() || leader_->term->turn.is_paused()) return;
  const std::uint64_t bound_ms = random_.one_in(8) ? 90'000 : random_.one_in(4) ? 3'000 : 50;
  const std::chrono::milliseconds by(random_.below(bound_ms));
  now_ = std::max(now_, std::min(now_ + by, model_.second_pause_end() - Duration{1}));
  leader_->term->clock.set(now_);
  leader_->term->turn.request();
}

void Failover::poll() {
  Term& term = *leader_->term;
  term.run();
  for (std::size_t slot = 0; slot < kFailoverClients; ++slot) {
    const Client* const client = term.clients[slot].get();
    if (client != nullptr && client->is_silent() && client->has_heard_all()) disconnect(slot);
  }
  if (random_.one_in(4)) compare(leader_->broker->view(), model_, now_);
}

/// The server has done what was due. What a deposed leader does is nobody's business but its own.
void Failover::work(Term& term, Time now) {
  if (leader_->term.get() != &term) return;
  model_.tick(now);
  for (const std::unique_ptr<Client>& client : term.clients) {
    if (client) conversation_.check_eviction(*client, now);
  }
  observe();
}

void Failover::observe() {
  settle(leader_->broker->view(), model_.facts);
  for (const std::unique_ptr<Client>& client : leader_->term->clients) {
    if (client) observe(*client);
  }
}

/// Everything that sessions have said since the last call must be what the model foretold.
void Failover::observe(Client& client) {
  const std::uint64_t in_batch = leader_->ledger->has_batch() ? 1 : 0;
  conversation_.check_replies(client, shadow_point_ + landmarks_.size() + in_batch);
}

// ---- clients ------------------------------------------------------------------------------------

void Failover::client_step() {
  Term& term = *leader_->term;
  const std::size_t slot = random_.below(kFailoverClients);
  Client* const client = term.clients[slot].get();
  if (client == nullptr) return connect(slot);
  if (term.turn.is_paused()) return;
  if (random_.one_in(30)) return disconnect(slot);
  if (!client->is_silent() && !model_.is_waiting(client->number())) converse(*client);
}

void Failover::connect(std::size_t slot) {
  Term& term = *leader_->term;
  const ClientNumber number = next_client_++;
  const bool is_worker = random_.one_in(2);
  const std::string wid =
      is_worker ? kFailoverWids[random_.below(std::size(kFailoverWids))] : std::string();
  std::unique_ptr<Session> session = is_worker ? term.faktory.open() : term.beanstalk.open();
  const auto note_reply = [this, &term](const Client::Told& told) {
    const bool is_leading = leader_ != nullptr && leader_->term.get() == &term;
    demand(is_leading, "a deposed leader answers");
    known_point_ = std::max(known_point_, told.point);
    ++totals_.replies;
  };
  const auto note_call = [this, &term] {
    if (leader_->term.get() == &term) observe();
  };
  term.clients[slot] = std::make_unique<Client>(
      number, wid, std::move(session),
      Client::Events{.on_session_called = note_call, .on_received = note_reply});
  Client& client = *term.clients[slot];
  conversation_.begin(client, now_);
  term.join(client);
  term.turn.enlist(client);
}

void Failover::disconnect(std::size_t slot) {
  Term& term = *leader_->term;
  const std::unique_ptr<Client> client = std::move(term.clients[slot]);
  term.leave(*client);
  conversation_.end(*client, now_);
  term.turn.request();
  observe();
}

/// Says one thing, or several without awaiting the replies, no more than the session executes at
/// once.
void Failover::converse(Client& client) {
  Term& term = *leader_->term;
  if (leader_->ledger->batch_bytes() > kBatchBytesPause / 4) return poll();
  const std::vector<Command> said = conversation_.draw(client, now_);
  totals_.operations += said.size();
  if (said.empty()) return;
  std::string text;
  for (const Command& command : said) text += render(command);
  client.receive(text, now_);
  for (const Command& command : said) model_.execute(client.number(), command, now_);
  observe();
  term.turn.enlist(client);
  term.turn.answer_early(client);
}

}  // namespace millrace::simulation
