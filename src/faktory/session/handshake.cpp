#include <utility>

#include "faktory/session/reply.hpp"
#include "faktory/session/session.hpp"

namespace millrace::faktory {
namespace {

/// HELLO versions below this hash the password once, whatever HI asked for.
constexpr std::int64_t kIteratingVersion = 2;

}  // namespace

void FwpSession::start(Time now) {
  const CountOutput count(*this);
  close_at_ = now + kHandshakeLimit;
  if (!door_.settings.password.empty()) challenge_ = make_challenge(door_.settings.random);
  append_hi(challenge_, output_);
}

void FwpSession::shake_hands(const LineBuffer::Line& line, Time now) {
  std::optional<Hello> hello = parse_hello(line.text);
  if (!hello) {
    is_closing_ = true;
    return;
  }
  if (!challenge_) return welcome(std::move(*hello), now);
  if (hello->version < kIteratingVersion) challenge_->iterations = 1;
  PasswordHash hash(door_.settings.password, *challenge_);
  login_ = std::make_unique<Login>(Login{std::move(*hello), std::move(hash)});
  // The client has done its part: what it waits for from here on is our doing, and bounded.
  close_at_ = kNever;
  check_login(now);
}

Time FwpSession::wake_at() const {
  return login_ && login_->is_waiting() ? login_->turn->at : kNever;
}

/// A piece of the password's hash, if it is this session's turn.
void FwpSession::check_login(Time now) {
  if (door_.hashing != this && !may_begin_login(now)) return;
  if (door_.hashing == nullptr) door_.hashing = this;
  if (door_.hashing != this || !login_->hash.work(kHashesPerTurn)) return;
  finish_login(now);
}

/// Asked until it begins: the address may become a slow one while others of it are looked at.
bool FwpSession::may_begin_login(Time now) {
  if (!login_->turn) {
    if (!door_.logins.is_slow(peer_, now)) return true;
    login_->turn = door_.logins.wait(peer_, now);
    if (!login_->turn) {
      is_closing_ = true;
      return false;
    }
  }
  login_->is_turn = now >= login_->turn->at;
  return login_->is_turn;
}

std::unique_ptr<FwpSession::Login> FwpSession::leave_login() {
  if (door_.hashing == this) door_.hashing = nullptr;
  if (login_ && login_->turn) door_.logins.leave(*login_->turn);
  return std::move(login_);
}

void FwpSession::finish_login(Time now) {
  const std::unique_ptr<Login> login = leave_login();
  if (is_same_hash(login->hello.password_hash, login->hash.text())) {
    return welcome(std::move(login->hello), now);
  }
  door_.logins.note_failure(peer_, now);
  append_error(kInvalidPassword, output_);
  is_closing_ = true;
}

void FwpSession::welcome(Hello&& hello, Time now) {
  client_ = door_.broker.connect(*this);
  ++door_.connection_count;
  close_at_ = kNever;
  challenge_.reset();
  lines_.set_limit(door_.settings.line_bytes_max);
  append_ok(output_);
  const std::uint64_t connections_max = door_.settings.connections_max;
  if (connections_max != 0 && door_.connection_count > connections_max) {
    append_error(too_many_connections(door_.connection_count), output_);
    is_closing_ = true;
    return;
  }
  wid_ = hello.worker.wid;
  if (wid_.empty()) return;
  const auto registered = door_.broker.register_worker(client_, std::move(hello.worker), now);
  is_closing_ = !registered.has_value();
}

}  // namespace millrace::faktory
