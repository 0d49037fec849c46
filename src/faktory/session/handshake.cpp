#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "faktory/session/reply.hpp"
#include "faktory/session/session.hpp"

namespace millrace::faktory {
namespace {

/// A client with an older version of HELLO hashes the password once, whatever HI asked for.
constexpr std::int64_t kIteratingVersion = 2;

/// For all secrets together as many as for one password.
std::uint32_t rounds_for(std::size_t secrets) {
  return std::max<std::uint32_t>(
      1, kIterationsMin / static_cast<std::uint32_t>(std::max<std::size_t>(1, secrets)));
}

}  // namespace

void FaktorySession::start(Time now) {
  // A connection that never says HELLO would count against nothing, and stay for ever.
  close_at_ = now + kHandshakeLimit;
  const Settings& settings = shared_.settings;
  if (!settings.users) caller_ = access::Caller::everybody();
  if (settings.users || !settings.password.empty()) challenge_ = make_challenge(settings.random);
  if (settings.users) challenge_->iterations = rounds_for(settings.users->secrets().size());
  reply::hi(output_, challenge_);
}

void FaktorySession::shake_hands(const LineBuffer::Line& line, Time now) {
  std::optional<Hello> hello = parse_hello(line.text);
  if (!hello) {
    is_closing_ = true;
    return;
  }
  // Without a password any hash is right, so that clients need not know.
  if (!challenge_) return welcome(std::move(*hello), now);
  if (hello->version < kIteratingVersion) challenge_->iterations = 1;
  const access::SharedUsers& users = shared_.settings.users;  // Shared: a reload brings others.
  const bool has_secrets = users && !users->secrets().empty();
  PasswordHash hash(has_secrets ? users->secrets().front().text : shared_.settings.password,
                    *challenge_);
  login_ = std::make_unique<Login>(Login{std::move(*hello), users, std::move(hash)});
  // The client has done its part. From here on it waits for us, and the guard bounds how long.
  close_at_ = kNever;
  check_login(now);
}

Time FaktorySession::wake_at() const {
  return login_ && login_->is_waiting() ? login_->turn->at : kNever;
}

/// Makes a slice of the password's hash, if it is this session's turn.
void FaktorySession::check_login(Time now) {
  if (shared_.hashing != this && !may_begin_login(now)) return;
  // One at a time: a hundred workers that return at once share the broker's thread with all others
  // (docs/internals/decisions/passwords.md).
  if (shared_.hashing == nullptr) shared_.hashing = this;
  if (shared_.hashing != this || !try_secrets()) return;
  finish_login(now);
}

/// Works one slice. True: all secrets were tried. The right one is no quicker than the others.
bool FaktorySession::try_secrets() {
  Login& login = *login_;
  if (!login.users) return login.hash.work(kHashesPerTurn);
  const std::vector<access::Users::Secret>& secrets = login.users->secrets();
  const std::uint32_t rounds = challenge_->iterations;
  for (std::uint32_t done = 0; done < kHashesPerTurn && login.tried < secrets.size();) {
    if (!login.hash.work(kHashesPerTurn)) return false;
    done += rounds;
    if (is_same_hash(login.hello.password_hash, login.hash.text())) login.right = login.tried;
    ++login.tried;
    if (login.tried < secrets.size()) {
      login.hash = PasswordHash(secrets[login.tried].text, *challenge_);
    }
  }
  return login.tried == secrets.size();
}

/// Asked again until the login begins: the address may become a slow one while other logins from it
/// are checked.
bool FaktorySession::may_begin_login(Time now) {
  if (!login_->turn) {
    if (!shared_.logins.is_slow(peer_, now)) return true;
    login_->turn = shared_.logins.wait(peer_, now);
    if (!login_->turn) {
      // Too many wait already, so this one is sent away.
      is_closing_ = true;
      return false;
    }
  }
  login_->is_turn = now >= login_->turn->at;
  return login_->is_turn;
}

std::unique_ptr<FaktorySession::Login> FaktorySession::leave_login() {
  if (shared_.hashing == this) shared_.hashing = nullptr;
  if (login_ && login_->turn) shared_.logins.leave(*login_->turn);
  return std::move(login_);
}

void FaktorySession::finish_login(Time now) {
  const std::unique_ptr<Login> login = leave_login();
  if (login->right) {
    const access::Users::Secret& secret = login->users->secrets()[*login->right];
    caller_ = access::Caller(login->users, *secret.user, secret.text);
  }
  const bool is_right = login->users ? login->right.has_value()
                                     : is_same_hash(login->hello.password_hash, login->hash.text());
  // They may have changed meanwhile.
  if (is_right && caller_.is_unchanged_in(shared_.settings.users)) {
    return welcome(std::move(login->hello), now);
  }
  // Before the reply leaves: the next guess from there waits.
  shared_.logins.note_failure(peer_, now);
  note_wrong_password(now);
  reply::error(output_, reply::kInvalidPassword);
  is_closing_ = true;
}

bool FaktorySession::is_wid_of_another(std::string_view wid) const {
  return caller_.is_limited() && std::any_of(shared_.of_users.begin(), shared_.of_users.end(),
                                             [&](const FaktorySession* session) {
                                               return session->wid_ == wid &&
                                                      session->caller_.name() != caller_.name();
                                             });
}

void FaktorySession::welcome(Hello&& hello, Time now) {
  CHECK(client_ == 0);
  client_ = shared_.broker.connect(*this);
  if (caller_.is_limited()) shared_.of_users.insert(this);
  // Counted before the limit, so that `close` always counts it out.
  ++shared_.connection_count;
  close_at_ = kNever;
  // A salt is used once.
  challenge_.reset();
  lines_.set_limits(shared_.settings.line_bytes_max, kShortLineBytes, line_limit);
  // A worker of another user would obey this one's BEAT, and END.
  if (!hello.worker.wid.empty() && is_wid_of_another(hello.worker.wid)) {
    reply::error(output_, reply::kWidOfAnother);
    is_closing_ = true;
    return;
  }
  reply::ok(output_);
  // As in the reference: the client is welcomed first, and then told that it is one too many.
  const std::uint64_t connections_max = shared_.settings.connections_max;
  if (connections_max != 0 && shared_.connection_count > connections_max) {
    reply::error(output_, reply::too_many_connections(shared_.connection_count));
    is_closing_ = true;
    return;
  }
  wid_ = hello.worker.wid;
  if (wid_.empty()) return;
  const auto registered = shared_.broker.workers().add(client_, std::move(hello.worker), now);
  // Only a wid that is too long is refused, and `parse_hello` has looked.
  is_closing_ = !registered.has_value();
}

}  // namespace millrace::faktory
