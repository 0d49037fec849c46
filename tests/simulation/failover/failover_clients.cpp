#include <algorithm>

#include "core/broker/bulk_changes.hpp"
#include "simulation/audit/audit.hpp"
#include "simulation/failover/node.hpp"
#include "simulation/violation.hpp"

/// What a leader of the failover simulation and its clients say to each other.
namespace millrace::simulation {
namespace {

const std::string kFailoverWids[] = {"worker-a", "worker-b"};

}  // namespace

Failover::Term& Failover::term() const {
  return *leader_->term;
}

void Failover::poll() {
  if (!is_leader_awake()) return;
  Term& term = this->term();
  term.run();
  for (std::size_t slot = 0; slot < kFailoverClients; ++slot) {
    const Client* const client = term.clients[slot].get();
    if (client != nullptr && client->is_silent() && client->has_heard_all()) disconnect(slot);
  }
  if (random_.one_in(4)) compare(leader_->broker, model_, now());
}

/// The server has done what was due. What a deposed leader does is nobody's business but its own.
void Failover::work(Term& term, Time now) {
  if (leader_ != &term.process) return;
  model_.tick(now);
  for (const std::unique_ptr<Client>& client : term.clients) {
    if (client) conversation_.check_eviction(*client, now);
  }
  observe();
}

void Failover::observe() {
  settle(leader_->broker.view(), model_.facts);
  for (const std::unique_ptr<Client>& client : leader_->term->clients) {
    if (client) observe(*client);
  }
}

/// Everything that sessions have said since the last call must be what the model foretold.
void Failover::observe(Client& client) {
  const std::uint64_t in_batch = leader_->ledger.has_batch() ? 1 : 0;
  conversation_.check_replies(client, audit_.expected_point() + in_batch);
}

void Failover::note_reply(const Term& term, const Client::Told& told) {
  demand(leader_ == &term.process && static_cast<std::uint64_t>(term.epoch) == audit_.epoch(),
         "a deposed leader answers");
  demand(!told.is_all || told.point <= audit_.point(),
         "a client is told of what is not in the log");
  demand(told.handed_out.id < audit_.facts().next_id,
         "a client is handed a job that is not in the log");
  ++totals_.replies;
}

// ---- clients ------------------------------------------------------------------------------------

void Failover::client_step() {
  Term& term = *leader_->term;
  const std::size_t slot = random_.below(kFailoverClients);
  Client* const client = term.clients[slot].get();
  if (client == nullptr) return connect(slot);
  if (term.turn.is_paused()) return;
  if (random_.one_in(30)) return disconnect(slot);
  if (random_.one_in(60)) return spread_retries();
  if (!client->is_silent() && !model_.is_waiting(client->number())) converse(*client);
}

void Failover::connect(std::size_t slot) {
  Term& term = *leader_->term;
  const ClientNumber number = next_client_++;
  const bool is_worker = random_.one_in(2);
  const std::string wid =
      is_worker ? kFailoverWids[random_.below(std::size(kFailoverWids))] : std::string();
  std::unique_ptr<Session> session =
      is_worker ? term.faktory.open() : term.beanstalk.open(access::Caller::everybody());
  const auto note_received = [this, &term](const Client::Told& told) { note_reply(term, told); };
  const auto note_call = [this, &term] {
    if (leader_ == &term.process) observe();
  };
  term.clients[slot] = std::make_unique<Client>(
      number, wid, std::move(session),
      Client::Events{.on_session_called = note_call, .on_received = note_received});
  Client& client = *term.clients[slot];
  conversation_.begin(client, now());
  client.set_fetches(is_strict_ ? Client::Fetches::kStrict : Client::Fetches::kForJob);
  term.join(client);
  term.turn.enlist(client);
}

void Failover::disconnect(std::size_t slot) {
  Term& term = *leader_->term;
  const std::unique_ptr<Client> client = std::move(term.clients[slot]);
  term.leave(*client);
  conversation_.end(*client, now());
  term.turn.request();
  observe();
}

/// An administrator retries all jobs that have failed. They come back over some time.
void Failover::spread_retries() {
  static const std::vector<Duration> kWithin = {1s, 100s, 86'400s};
  if (model_.is_working()) return;
  const JobState set = random_.one_in(3) ? JobState::kRetrying : JobState::kDead;
  const Duration within = random_.pick(kWithin);
  totals_.spreads += model_.in_order(set, "").empty() ? 0 : 1;
  tell("an administrator spreads retries");
  BulkChanges changes(leader_->broker);
  (void)changes.start({.states = {set}, .action = Mutation::Action::kRequeue, .spread = within},
                      now());
  while (changes.work(now())) {
  }
  model_.spread_retries(set, within, now());
  term().turn.request();
  observe();
}

/// Says one thing, or several without awaiting the replies, no more than the session executes at
/// once.
void Failover::converse(Client& client) {
  Term& term = *leader_->term;
  if (leader_->ledger.batch_bytes() > kBatchBytesPause / 4) return poll();
  const std::vector<Command> said = conversation_.draw(client, now());
  totals_.operations += said.size();
  if (said.empty()) return;
  std::string text;
  for (const Command& command : said) text += render(command);
  client.receive(text, now());
  for (const Command& command : said) model_.execute(client.number(), command, now());
  observe();
  term.turn.enlist(client);
  term.turn.answer_early(client);
}

}  // namespace millrace::simulation
