#include "server/turn/client_session.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/check.hpp"

namespace millrace::server {

ClientSession::ClientSession(std::unique_ptr<Session> session, ClientSocket& socket,
                             Batch<Order>& orders, Parts& parts)
    : session_(std::move(session)), socket_(socket), orders_(orders), parts_(parts) {
  parts_.turn.join(*session_, *this);
}

ClientSession::~ClientSession() {
  CHECK(!session_ && unsent_bytes_ == 0 && !is_ready_);
}

// ---- the session --------------------------------------------------------------------------------

/// An exception that a session lets out is our bug, or the log cannot be read: it costs the client
/// its connection and nobody else anything. Memory that cannot be had ends the process before.
template <typename Call>
void ClientSession::call_session(Call call) {
  CHECK(session_ && !is_closing_);
  try {
    call(*session_, parts_.clock.now());
    count_unsent();
    count_kept();
    parts_.turn.enlist(*this);
  } catch (const std::exception& exception) {
    parts_.log.event("session_failed", {{"error", exception.what()}});
    drop();
  }
}

void ClientSession::start() {
  call_session([](Session& session, Time now) { session.start(now); });
}

void ClientSession::get_ready(std::deque<ClientSession*>& queue) {
  if (!std::exchange(is_ready_, true)) queue.push_back(this);
}

void ClientSession::serve(std::size_t bytes_max) {
  is_ready_ = false;
  if (!session_ || is_closing_) return;
  bool has_executed = true;
  if (must_end_session_input()) {
    end_session_input();
  } else if (std::exchange(is_due_, false) || (session_->wants_resume() && takes_output())) {
    call_session([](Session& session, Time now) { session.resume(now); });
  } else {
    has_executed = execute_input(bytes_max);
  }
  if (!has_executed || !session_ || is_closing_) return;
  if (has_more()) get_ready(parts_.ready.others);
  parts_.turn.answer_early(*this);
}

bool ClientSession::has_more() const {
  if (must_end_session_input() || is_due_) return true;
  return (takes_output() && session_->wants_resume()) || (!arrived_.empty() && wants_input());
}

// ---- its input ----------------------------------------------------------------------------------

void ClientSession::take(const Arrival& arrival) {
  if (arrival.sent_bytes > 0) sent(arrival.sent_bytes);
  if (arrival.is_full && !stalled_since_) stalled_since_ = parts_.clock.now();
  if (arrival.is_over && session_) close(arrival.is_broken);
  if (arrival.is_gone) return parts_.ticker.plan(*this, kNever);
  if (!session_ || is_closing_) return;
  if (arrival.input.empty()) {
    if (arrival.is_end) end_input();
    return;
  }
  CHECK(arrived_.empty() && input_ == Input::kAwaited);
  arrived_ = arrival.input;
  is_end_next_ = arrival.is_end;
  input_ = Input::kArrived;
  get_ready(unsent_bytes() == 0 ? parts_.ready.answered : parts_.ready.others);
}

bool ClientSession::wants_input() const {
  if (!session_ || is_closing_ || is_stopping_ || !takes_output()) return false;
  return session_->wants_input() && !session_->wants_close();
}

/// False: the session would not take it now.
bool ClientSession::execute_input(std::size_t bytes_max) {
  if (arrived_.empty() || !wants_input() || !parts_.kept.admits(*this)) return false;
  const std::string_view piece = arrived_.substr(0, bytes_max);
  arrived_.remove_prefix(piece.size());
  call_session([piece](Session& session, Time now) { session.receive(piece, now); });
  if (session_ && !is_closing_ && arrived_.empty() && is_end_next_) end_input();
  return true;
}

void ClientSession::ask_again() {
  arrived_.empty() ? parts_.turn.enlist(*this) : get_ready(parts_.ready.others);
}

void ClientSession::end_input() {
  CHECK(!is_input_over_);
  is_input_over_ = true;
  input_ = Input::kOver;
  end_session_input();
  // A client that has closed shall be gone when the commands of others are executed in this turn.
  // That is so unless a reply to it waits for the disk, which must not leave without what it is
  // about.
  if (session_) parts_.turn.bind_at_once(*this);
}

void ClientSession::end_session_input() {
  has_ended_session_input_ = true;
  call_session([](Session& session, Time now) { session.end_of_input(now); });
}

void ClientSession::expire(Time now) {
  if (!session_) return order(Order::Then::kDrop);
  // What arrived in time, and only waits for us, is executed first.
  const bool is_over = session_->close_at() <= now;
  if (is_over && arrived_.empty()) return drop();
  is_due_ = !is_over;
  get_ready(parts_.ready.others);
}

// ---- its output ---------------------------------------------------------------------------------

std::optional<Lsn> ClientSession::bind(Lsn lsn) {
  if (!session_ || is_closing_) return std::nullopt;
  count_unsent();  // What was delivered to the session is not counted yet.
  // What does not fit stays with the session, which then does nothing more, until more was sent.
  if (!takes_output() || session_->output().empty()) {
    const Order::Then then = settle();
    if (then != Order::Then::kNothing) order(then);
    return std::nullopt;
  }
  const Lsn needs = parts_.is_fetch_strict ? kWholeLog : session_->output_needs();
  // Replies leave in order: none waits for less than the one before it. And one that tells of
  // nothing waits while this server may not answer.
  bound_ = std::max(bound_, std::min(std::max<Lsn>(needs, 1), lsn));
  Order& order = orders_.add();
  order.to = &socket_;
  order.output = session_->take_output(std::move(order.output));
  order.lsn = bound_;
  given_bytes_ = session_->output_end();
  order.then = settle();
  return bound_;
}

void ClientSession::sent(std::size_t bytes) {
  sent_bytes_ += bytes;
  CHECK(session_ && sent_bytes_ <= given_bytes_);
  stalled_since_.reset();
  session_->sent(bytes);
  count_unsent();
  if (!is_closing_ && (has_more() || !session_->output().empty() || input_ == Input::kHeld)) {
    parts_.turn.enlist(*this);
  }
}

/// A client that does not read its replies holds up its own work.
void ClientSession::count_kept() {
  parts_.kept.count(*this, session_->kept_bytes(), session_->is_at_work() && takes_output());
}

void ClientSession::count_unsent() {
  const std::size_t bytes = session_ ? session_->output_end() - sent_bytes_ : 0;
  UnsentOutput& all = parts_.unsent;
  const std::size_t unrendered = session_ ? session_->unrendered_bytes() : 0;
  CHECK(all.bytes >= unsent_bytes_ + unrendered_bytes_);
  if (bytes > unsent_bytes_) all.turn_bytes += bytes - unsent_bytes_;
  all.bytes -= unsent_bytes_ + unrendered_bytes_;
  all.bytes += bytes + unrendered;
  unsent_bytes_ = bytes;
  unrendered_bytes_ = unrendered;
}

/// Looks at what follows from the session's state, when its output was given.
Order::Then ClientSession::settle() {
  // Before it closes too: a client that does not take its last reply must not stay for ever.
  parts_.ticker.plan(*this, std::min(session_->close_at(), session_->wake_at()));
  if (session_->output().empty() && is_all_answered()) {
    is_closing_ = true;
    // A client that has all its answers is gone at once. Another one when its socket says so.
    if (given_bytes_ == sent_bytes_) close(false);
    return is_stopping_ ? Order::Then::kEnd : Order::Then::kFinish;
  }
  count_kept();  // Its work may have ended in the background.
  if (has_more()) get_ready(parts_.ready.others);
  return next_input();
}

Order::Then ClientSession::next_input() {
  if (input_ == Input::kAwaited || input_ == Input::kOver) return Order::Then::kNothing;
  if (arrived_.empty() && wants_input() && parts_.kept.admits(*this)) {
    input_ = Input::kAwaited;
    return Order::Then::kReadOn;
  }
  if (input_ == Input::kHeld || (is_ready_ && !parts_.turn.is_paused())) {
    return Order::Then::kNothing;
  }
  input_ = Input::kHeld;
  return Order::Then::kHold;
}

void ClientSession::order(Order::Then then) {
  Order& order = orders_.add();
  order.to = &socket_;
  order.then = then;
}

bool ClientSession::must_end_session_input() const {
  return is_stopping_ && !has_ended_session_input_;
}

bool ClientSession::is_all_answered() const {
  if (session_->wants_close()) return true;
  return is_stopping_ && !must_end_session_input() && !session_->wants_resume() &&
         !session_->is_at_work();
}

// ---- the end ------------------------------------------------------------------------------------

/// A client that waits for a job is answered that nothing came, and what was sent is executed. A
/// client that has all its answers has nothing to lose.
void ClientSession::stop() {
  // One that lingers has its answers already.
  if (!session_) return order(Order::Then::kDrop);
  is_stopping_ = true;
  if (!is_closing_) get_ready(parts_.ready.others);
}

void ClientSession::drop() {
  is_closing_ = true;
  order(Order::Then::kDrop);
}

void ClientSession::close(bool is_broken) {
  arrived_ = {};
  input_ = Input::kOver;
  is_closing_ = true;
  if (std::exchange(is_ready_, false)) {
    ClientSession* const none = nullptr;
    for (auto* const queue : {&parts_.ready.answered, &parts_.ready.others}) {
      std::replace(queue->begin(), queue->end(), this, none);
    }
  }
  parts_.kept.count(*this, 0);
  parts_.turn.leave(*session_, *this);
  parts_.ticker.plan(*this, parts_.clock.now() + kLingerMax);
  if (is_broken) session_->note_broken();
  session_->close(parts_.clock.now());
  session_.reset();
  count_unsent();
  stalled_since_.reset();
  // What it held goes to others, and the journal has to know.
  parts_.turn.request();
}

}  // namespace millrace::server
