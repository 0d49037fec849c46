#include "server/turn/client_session.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/check.hpp"

namespace millrace::server {

ClientSession::ClientSession(std::unique_ptr<Session> session, SocketHalf& socket, Parts& parts)
    : session_(std::move(session)), socket_(socket), parts_(parts) {
  parts_.turn.join(*session_, *this);
}

ClientSession::~ClientSession() {
  socket_.drop();
  CHECK(!session_ && unsent_bytes_ == 0);
}

// ---- the session --------------------------------------------------------------------------------

/// An exception that a session lets out is our bug, or the log cannot be read: it costs the client
/// its connection and nobody else anything. Memory that cannot be had ends the process before.
template <typename Call>
void ClientSession::call_session(Call call) {
  CHECK(session_);
  try {
    call(*session_, parts_.clock.now());
    count_unsent();
    parts_.kept.count(*this, session_->kept_bytes());
    parts_.turn.enlist(*this);
  } catch (const std::exception& exception) {
    parts_.log.event("session_failed", {{"error", exception.what()}});
    socket_.drop();
  }
}

void ClientSession::start() {
  call_session([](Session& session, Time now) { session.start(now); });
}

bool ClientSession::wants_input() const {
  if (!session_ || is_stopping_ || is_input_over_ || !socket_.takes_output()) return false;
  return session_->wants_input() && !session_->wants_close();
}

std::size_t ClientSession::input_share() {
  const bool is_short = is_brief();
  // A short command may have a long reply.
  const bool waits =
      is_short ? parts_.unsent.turn_bytes >= 2 * kTurnOutputBytesMax : is_over(parts_.input_share);
  if (!waits) return is_short ? kBriefInputBytes : kInputShareBytes;
  // The next turn measures anew.
  parts_.turn.request();
  return 0;
}

bool ClientSession::is_brief() const {
  return is_brief_ && session_ && !session_->wants_resume() && session_->unrendered_bytes() == 0;
}

/// A client that is turned away is enlisted for when it may go on.
bool ClientSession::offer_input() {
  if (!wants_input()) return false;
  if (parts_.turn.is_paused()) {
    parts_.turn.enlist_after_pause(*this);
    return false;
  }
  return parts_.kept.admits(*this);
}

void ClientSession::ask_again() {
  parts_.turn.enlist(*this);
}

void ClientSession::receive(std::string_view bytes) {
  const std::uint64_t before = session_->output_end();
  call_session([bytes](Session& session, Time now) { session.receive(bytes, now); });
  if (!session_) return;
  is_brief_ =
      bytes.size() < kBriefInputBytes && session_->output_end() - before <= kShortOutputBytes;
  parts_.turn.answer_early(*this);
}

void ClientSession::end_input() {
  CHECK(!is_input_over_);
  is_input_over_ = true;
  end_session_input();
  // A client that has closed shall be gone when the commands of others are executed in this turn.
  // That is so unless a reply to it waits for the disk, which must not leave without what it is
  // about.
  if (session_) parts_.turn.bind_at_once(*this);
}

void ClientSession::resume(Time) {
  if (!session_ || parts_.turn.is_paused()) return;
  if (must_end_session_input()) return finish_session();
  if (!session_->wants_resume()) return;
  // Not by what is received in a turn: that could be too much in each of them.
  is_turned_away_ = is_over(parts_.resume_share);
  if (is_turned_away_) return;
  call_session([](Session& session, Time now) { session.resume(now); });
}

void ClientSession::expire(Time now) {
  if (!session_ || session_->close_at() <= now) return socket_.drop();
  // Afterwards it is planned again, and comes at once.
  if (parts_.turn.is_paused()) return parts_.turn.enlist_after_pause(*this);
  call_session([](Session& session, Time at) { session.resume(at); });
}

/// Whether the turn has lasted for that share, or has brought enough output.
bool ClientSession::is_over(TurnBudget& share) const {
  return parts_.unsent.turn_bytes >= kTurnOutputBytesMax || share.is_over();
}

/// Its `bind` then sends what this turn does not.
bool ClientSession::waits_for_next_turn() const {
  return parts_.unsent.turn_sent_bytes >= kTurnSentBytesMax && unsent_bytes_ > kShortOutputBytes;
}

// ---- its output ---------------------------------------------------------------------------------

std::optional<Lsn> ClientSession::bind(Lsn lsn, Lsn durable) {
  if (!session_) return std::nullopt;
  // What does not fit stays with the session, which then does nothing more, until `settle` enlists.
  if (socket_.takes_output() && !session_->output().empty()) {
    const Lsn needs = parts_.is_fetch_strict ? kWholeLog : session_->output_needs();
    // Replies leave in order: none waits for less than the one before it. And one that tells of
    // nothing waits while this server may not answer.
    bound_ = std::max(bound_, std::min(std::max<Lsn>(needs, 1), lsn));
    std::string output = session_->take_output(std::exchange(parts_.unsent.spare, {}));
    socket_.give(output, bound_);
    parts_.unsent.spare = std::move(output);
  }
  count_unsent();  // What was delivered to the session is not counted yet.
  if (waits_for_next_turn()) {
    parts_.turn.enlist(*this);
    return std::nullopt;
  }
  const bool waits = socket_.send_durable(durable);
  settle();
  return waits && session_ ? std::optional(bound_) : std::nullopt;
}

void ClientSession::send_durable(Lsn durable) {
  if (waits_for_next_turn()) return parts_.turn.enlist(*this);
  (void)socket_.send_durable(durable);
  settle();
}

/// In a turn, which knows what may be sent by now.
void ClientSession::has_room() {
  parts_.turn.enlist(*this);
}

void ClientSession::sent(std::size_t bytes) {
  CHECK(bytes <= unsent_bytes_);
  sent_bytes_ += bytes;
  parts_.unsent.turn_sent_bytes += bytes;
  session_->sent(bytes);
  count_unsent();
}

void ClientSession::count_unsent() {
  const std::size_t bytes = session_ ? session_->output_end() - sent_bytes_ : 0;
  UnsentOutput& all = parts_.unsent;
  const std::size_t unrendered = session_ ? session_->unrendered_bytes() : 0;
  CHECK(all.bytes >= unsent_bytes_ + unrendered_bytes_);
  if (bytes > unsent_bytes_) all.turn_bytes += bytes - unsent_bytes_;
  all.bytes += bytes + unrendered;
  all.bytes -= unsent_bytes_ + unrendered_bytes_;
  unsent_bytes_ = bytes;
  unrendered_bytes_ = unrendered;
}

/// Looks at what follows from the session's state and from what was sent.
void ClientSession::settle() {
  if (!session_) return;
  if (unsent_bytes_ == 0 && is_all_answered()) return socket_.finish();
  parts_.ticker.plan(*this, std::min(session_->close_at(), session_->wake_at()));
  // Whatever there is to do then is looked for then.
  if (parts_.turn.is_paused()) return parts_.turn.enlist_after_pause(*this);
  const bool has_more = session_->wants_resume() || !session_->output().empty();
  if ((has_more && socket_.takes_output()) || must_end_session_input()) {
    std::exchange(is_turned_away_, false) ? parts_.turn.enlist_first(*this)
                                          : parts_.turn.enlist(*this);
  }
  socket_.read_on();
}

bool ClientSession::must_end_session_input() const {
  return is_stopping_ && !has_ended_session_input_;
}

bool ClientSession::is_all_answered() const {
  if (session_->wants_close()) return true;
  return is_stopping_ && !must_end_session_input() && !session_->wants_resume();
}

// ---- the end ------------------------------------------------------------------------------------

void ClientSession::stop() {
  // One that lingers has its answers already.
  if (!session_) return socket_.drop();
  is_stopping_ = true;
  // What was sent is executed then, as always.
  if (parts_.turn.is_paused()) return parts_.turn.enlist_after_pause(*this);
  finish_session();
}

void ClientSession::end_session_input() {
  has_ended_session_input_ = true;
  call_session([](Session& session, Time now) { session.end_of_input(now); });
}

/// A client that waits for a job is answered that nothing came, and what was sent is executed. A
/// client that has all its answers has nothing to lose.
void ClientSession::finish_session() {
  if (!has_ended_session_input_) end_session_input();
  if (session_ && unsent_bytes_ == 0 && is_all_answered()) socket_.drop();
}

void ClientSession::drop() {
  socket_.drop();
}

void ClientSession::close(bool is_broken) noexcept {
  if (!session_) return;
  parts_.kept.count(*this, 0);
  parts_.turn.leave(*session_, *this);
  parts_.ticker.plan(*this, kNever);
  if (is_broken) session_->note_broken();
  session_->close(parts_.clock.now());
  session_.reset();
  count_unsent();
  // What it held goes to others, and the journal has to know.
  parts_.turn.request();
}

}  // namespace millrace::server
