#include "server/turn/turn.hpp"

#include <utility>

#include "base/check.hpp"

namespace millrace::server {

Turn::Turn(Parts parts) : parts_(parts) {
  listen_to_journal();
}

void Turn::listen_to_journal() {
  // What is durable may be told only as long as this server leads, which the main loop sees to.
  const bool has_lease = parts_.journal.may_answer_until() != kNever;
  parts_.journal.on_durable([this, has_lease] {
    const bool leads_for_ever = !has_lease && parts_.journal.epoch() == kOnlyEpoch;
    if (leads_for_ever) parts_.input.note_durable(parts_.journal.durable());
    if (!has_news_.exchange(true)) parts_.input.wake();
  });
}

// The journal's thread must not wake an input that is about to be destroyed.
Turn::~Turn() {
  parts_.journal.on_durable({});
}

void Turn::run() {
  begin_step("input");
  parts_.input.take(longest_wait());
  begin_step("gather");
  gather();
  if (!parts_.commits.leads()) return stand_down();
  const Time now = parts_.clock.now();
  if (is_needed(now)) {
    is_requested_ = false;
    enlist_woken();
    const Compactor::Limits limits = set_limits(now);
    begin_step("due");
    do_due(limits, now);
    begin_step("compact");
    compact(limits);
    begin_step("append");
    // Also those to which what came due was delivered.
    enlist_woken();
    parts_.commits.append_batch();
    if (!parts_.commits.leads()) return stand_down();
    bind_replies();
  }
  begin_step("send");
  take_news();
  if (commits().hurry_at() <= now) parts_.commits.hurry();
}

void Turn::stand_down() {
  is_requested_ = has_news_ = false;
  if (std::exchange(has_stood_down_, true)) return;
  parts_.duties.let_go(0);
  parts_.duties.stand_down();
}

bool Turn::is_asked_for() const {
  return is_requested_ || !enlisted_.is_empty() || parts_.ledger.has_batch() ||
         has_missing_bodies();
}

/// Whoever found one was answered. What becomes of its job is the broker's next task.
bool Turn::has_missing_bodies() const {
  return parts_.ledger.store().jobs().bodies().has_missing();
}

bool Turn::is_needed(Time now) const {
  if (has_stood_down_) return false;
  return is_asked_for() || parts_.ticker.next() <= now;
}

Duration Turn::longest_wait() const {
  if (is_requested_ || has_news_) return Duration{};
  // What is left to do is not done any more.
  if (has_stood_down_) return Duration::max();
  if (is_asked_for()) return Duration{};
  const Time next = std::min(parts_.ticker.next(), commits().hurry_at());
  if (next == kNever) return Duration::max();
  const Time now = parts_.clock.now();
  return next <= now ? Duration{} : next - now;
}

// ---- the responders -----------------------------------------------------------------------------

void Turn::join(Session& session, Responder& responder) {
  CHECK(responders_.emplace(&session, &responder).second);
}

void Turn::leave(const Session& session, Responder& responder) {
  CHECK(responders_.erase(&session) == 1);
  if (std::exchange(responder.is_enlisted_, false)) enlisted_.remove(responder);
  binding_.remove(responder);
}

void Turn::enlist(Responder& responder) {
  parts_.commits.append_if_large();
  if (std::exchange(responder.is_enlisted_, true)) return;
  enlisted_.add(responder);
}

void Turn::enlist_woken() {
  for (Session* session : parts_.broker.take_woken()) {
    const auto found = responders_.find(session);
    if (found != responders_.end()) enlist(*found->second);
  }
}

/// Clients go on, and so do bulk changes and compaction.
void Turn::end_pause() {
  const bool has_ended = std::exchange(was_paused_, is_paused()) && !is_paused();
  if (has_ended) request();
}

// ---- the steps of a turn ------------------------------------------------------------------------

/// A sync takes the time of many commands, whatever is synced. A client whose command arrives
/// during these looks need not wait for the next one.
void Turn::gather() {
  if (parts_.journal.durability() != Durability::kWhenSynced) return;
  for (int i = 0; i < kGatheringLooks && has_small_batch(); ++i) parts_.input.take(Duration{});
  if (parts_.journal.in_flight() > 0) gather_while_in_flight();
}

/// The journal wakes the input when something has become durable.
void Turn::gather_while_in_flight() {
  const Time until = parts_.clock.now() + kInFlightMax;
  while (has_small_batch() && is_much_in_flight() && commits().leads()) {
    take_news();
    const Time now = parts_.clock.now();
    if (now >= until || !is_much_in_flight()) return;
    parts_.input.take(until - now);
  }
}

/// With few clients, a second batch in flight answers them sooner. With many, most of what a batch
/// could have comes while the one before it is in flight.
bool Turn::is_much_in_flight() const {
  const std::size_t in_flight = parts_.journal.in_flight();
  return in_flight > 1 || (in_flight == 1 && commits().has_many_waiting());
}

bool Turn::has_small_batch() const {
  const std::size_t bytes = parts_.ledger.batch_bytes();
  return bytes > 0 && bytes < kGatheredBytes;
}

Compactor::Limits Turn::set_limits(Time now) {
  const Compactor::Limits limits = parts_.duties.set_limits(parts_.compactor.look_at_log(), now);
  parts_.broker.set_admission(limits.admission);
  is_compacting_only_ = limits.is_compacting_only;
  end_pause();
  return limits;
}

/// After all that clients asked for, so that what they planned is known.
void Turn::do_due(const Compactor::Limits& limits, Time now) {
  parts_.ticker.work(now,
                     limits.is_compacting_only ? Ticker::Scope::kDeadlines : Ticker::Scope::kAll);
  parts_.duties.work(now);
}

void Turn::compact(const Compactor::Limits& limits) {
  // What is rewritten would wait for the disk too, unless it is the way to have room on it again.
  if (commits().is_behind() && !limits.is_compacting_only) return;
  Compactor::Next next = parts_.compactor.work();
  // Clients may have filled several batches in this turn: then so does compaction.
  while (parts_.compactor.owes() && parts_.ledger.batch_bytes() >= kBatchBytesPause) {
    parts_.commits.append_batch();
    if (!commits().leads() || commits().is_behind()) break;
    next = parts_.compactor.work();
  }
  // It goes on when these jobs have their marks, also while nobody else may write.
  if (has_missing_bodies()) parts_.broker.see_to_missing_bodies(parts_.clock.now());
  if (next == Compactor::Next::kTurn) request();
  if (next == Compactor::Next::kDurable) is_durable_awaited_ = true;
}

void Turn::bind(Responder& responder) {
  if (const auto needs = responder.bind(commits().end())) parts_.commits.await(*needs);
}

/// Those that are enlisted meanwhile take part in the next turn.
void Turn::bind_replies() {
  CHECK(binding_.is_empty() && !parts_.ledger.has_batch());
  binding_.swap(enlisted_);
  binding_.call_each([this](Responder& responder) {
    responder.is_enlisted_ = false;
    bind(responder);
  });
  binding_.clear();
  was_paused_ = was_paused_ || is_paused();
  let_go();
}

void Turn::let_go() {
  parts_.duties.let_go(commits().answerable());
}

void Turn::bind_at_once(Responder& responder) {
  if (parts_.ledger.has_batch() || !parts_.commits.leads()) return;
  bind(responder);
  let_go();
}

void Turn::answer_early(Responder& responder) {
  if (!parts_.input.serves_few()) return;
  parts_.commits.append_if_durable_at_once();
  bind_at_once(responder);
}

void Turn::take_news() {
  if (!has_news_.exchange(false)) return;
  parts_.commits.look();
  let_go();
  end_pause();
  if (std::exchange(is_durable_awaited_, false)) request();
  // There may be room on the disk again, or no more.
  if (is_full(parts_.journal) || parts_.broker.refuses_jobs()) request();
}

}  // namespace millrace::server
