#include <utility>

#include "faktory/reply.hpp"
#include "faktory/session.hpp"

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
  const std::optional<Time> turn = door_.logins.turn_of(peer_, now);
  if (!turn) {
    is_closing_ = true;
    return;
  }
  if (hello->version < kIteratingVersion) challenge_->iterations = 1;
  PasswordHash hash(door_.settings.password, *challenge_);
  login_ = std::make_unique<Login>(Login{std::move(*hello), std::move(hash), *turn});
  close_at_ = *turn + kHandshakeLimit;
  check_login(now);
}

Time FwpSession::wake_at() const {
  return login_ && !login_->is_turn ? login_->turn : kNever;
}

/// A piece of the password's hash, if it is this session's turn.
void FwpSession::check_login(Time now) {
  login_->is_turn = login_->is_turn || now >= login_->turn;
  if (!login_->is_turn) return;
  if (door_.hashing == nullptr) door_.hashing = this;
  if (door_.hashing != this || !login_->hash.work(kHashesPerTurn)) return;
  door_.hashing = nullptr;
  finish_login(now);
}

void FwpSession::finish_login(Time now) {
  const std::unique_ptr<Login> login = std::move(login_);
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
