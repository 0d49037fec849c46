#include "server/web/web_port.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>

#include "base/check.hpp"
#include "server/net/listener.hpp"
#include "server/net/peer.hpp"

namespace millrace::server {
namespace {

/// The longest time between two looks at the limits of the connections.
constexpr auto kWatchMax = std::chrono::seconds(1);
/// The same while the port is full: more and more may wait in the backlog.
constexpr auto kFullWatchMax = std::chrono::milliseconds(20);

}  // namespace

WebPort::WebPort(BoundSocket socket, Parts parts)
    : bound_(std::move(socket)), parts_(std::move(parts)), tls_(parts_.tls) {}

WebPort::~WebPort() {
  CHECK(threads_.empty());
  if (wake_descriptor_ >= 0) ::close(wake_descriptor_);
}

Outcome<Done> WebPort::listen() {
  // A client that `poll` reported may be gone before it is accepted. The thread that watches must
  // not block until the next one comes.
  const int flags = ::fcntl(bound_.descriptor(), F_GETFL);
  ::fcntl(bound_.descriptor(), F_SETFL, flags | O_NONBLOCK);
  wake_descriptor_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wake_descriptor_ < 0 || ::listen(bound_.descriptor(), kBacklog) != 0) {
    return Problem{"cannot listen on " + bound_.address().text() + ": " + std::strerror(errno)};
  }
  pthread_setname_np(threads_.emplace_back([this] { watch(); }).native_handle(), "web_port");
  for (std::size_t i = 0; i < kWebThreads; ++i) {
    pthread_setname_np(threads_.emplace_back([this] { answer_requests(); }).native_handle(), "web");
  }
  return Done{};
}

void WebPort::set_tls(std::shared_ptr<const TlsContext> tls) {  // shared as in Parts
  const std::lock_guard guard(mutex_);
  tls_ = std::move(tls);
}

void WebPort::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_descriptor_, &one, sizeof one);
}

void WebPort::close() {
  if (threads_.empty()) return;
  is_closing_ = true;
  wake();
  const std::lock_guard guard(mutex_);
  has_work_.notify_all();
}

void WebPort::join() {
  CHECK(threads_.empty() || is_closing_);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

// ---- phases and limits --------------------------------------------------------------------------

void WebPort::enter(Connection& connection, Phase phase) {
  CHECK((phase == Phase::kDelayed) == connection.turn.has_value());
  connection.phase = phase;
  connection.since = WebStream::Steady::now();
}

/// The phase begins with the first bytes of the request and includes its body: a client cannot
/// extend it by sending byte by byte.
void WebPort::note_arriving(Connection& connection) {
  if (connection.phase != Phase::kArriving) enter(connection, Phase::kArriving);
}

/// When the phase must be over.
WebPort::TimePoint WebPort::ends_at(const Connection& connection) {
  switch (connection.phase) {
    case Phase::kIdle:
      return connection.since + kWebIdleMax;
    case Phase::kArriving:
      return connection.since + (connection.stream->awaits_body() ? kWebRequestMax : kWebHeadMax);
    case Phase::kDelayed:
      return connection.turn->at;
    case Phase::kSending:
    case Phase::kSendingLast:
      return connection.since + kWebRequestMax;
    case Phase::kLeaving:
      return connection.since + kWebLeaveMax;
  }
  std::abort();
}

/// From when on a new connection may replace it. A delayed client waits for the server, not the
/// server for it: it keeps its place. So does one whose request may have arrived unseen.
WebPort::TimePoint WebPort::makes_room_at(const Connection& connection) const {
  if (connection.phase == Phase::kDelayed || !connection.was_seen) return TimePoint::max();
  return connection.phase == Phase::kLeaving ? connection.since : connection.since + grace_;
}

// ---- the thread that watches --------------------------------------------------------------------

void WebPort::watch() {
  Connections waiting;
  while (!is_closing_) {
    std::vector<pollfd> watched;
    watched.push_back({.fd = wake_descriptor_, .events = POLLIN, .revents = 0});
    const auto now = WebStream::Steady::now();
    grace_ = look_for_grace();
    const auto room_at = has_room_at(waiting);
    const bool has_room = room_at <= now;
    watched.push_back({.fd = has_room ? bound_.descriptor() : -1, .events = POLLIN, .revents = 0});
    TimePoint next = now + kWatchMax;
    if (!has_room) next = std::min({next, room_at, now + kFullWatchMax});
    for (const Connection& each : waiting) {
      const short events = each.stream->has_output() ? POLLOUT : POLLIN;
      const int descriptor = each.phase == Phase::kDelayed ? -1 : each.stream->socket();
      watched.push_back({.fd = descriptor, .events = events, .revents = 0});
      next = std::min(next, each.was_seen ? ends_at(each) : now);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - WebStream::Steady::now());
    ::poll(watched.data(), watched.size(), std::max(0, static_cast<int>(left.count())));
    sort_out(waiting, watched);
    take_returned(waiting);
    if (watched[1].revents != 0) accept_all(waiting);
  }
  bound_.remove_file();
}

/// `watched` has an entry for each of `waiting`, after the first two.
void WebPort::sort_out(Connections& waiting, const std::vector<pollfd>& watched) {
  CHECK(watched.size() == waiting.size() + 2);
  Connections still_waiting;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    switch (next_of(waiting[i], watched[i + 2].revents != 0)) {
      case Next::kWait:
        still_waiting.push_back(std::move(waiting[i]));
        break;
      case Next::kServe:
        hand_over(std::move(waiting[i]));
        break;
      case Next::kDrop:
        --connection_count_;
        break;
    }
  }
  waiting = std::move(still_waiting);
}

/// The state table of a connection on which the server waits.
WebPort::Next WebPort::next_of(Connection& connection, bool has_event) {
  connection.was_seen = true;
  const bool is_over = ends_at(connection) <= WebStream::Steady::now();
  switch (connection.phase) {
    case Phase::kIdle:
      return has_event ? Next::kServe : is_over ? Next::kDrop : Next::kWait;
    case Phase::kArriving:
      return is_over ? refuse_late(connection) : has_event ? Next::kServe : Next::kWait;
    case Phase::kDelayed:
      return is_over ? Next::kServe : Next::kWait;
    case Phase::kSending:
    case Phase::kSendingLast:
      return is_over ? Next::kDrop : has_event ? send_rest(connection) : Next::kWait;
    case Phase::kLeaving:
      if (is_over) return Next::kDrop;
      return has_event && !connection.stream->discard_input() ? Next::kDrop : Next::kWait;
  }
  std::abort();
}

WebPort::Next WebPort::send_rest(Connection& connection) {
  if (!connection.stream->flush()) return Next::kDrop;
  if (connection.stream->has_output()) return Next::kWait;
  if (connection.phase == Phase::kSendingLast) {
    connection.stream->finish();
    enter(connection, Phase::kLeaving);
    return Next::kWait;
  }
  enter(connection, Phase::kIdle);
  // A request that came before the answer was sent causes no further event.
  return connection.stream->has_request() ? Next::kServe : Next::kWait;
}

WebPort::Next WebPort::refuse_late(Connection& connection) {
  if (!connection.stream->write(write_late_answer())) return Next::kDrop;
  enter(connection, Phase::kSendingLast);
  return send_rest(connection);
}

/// All that wait in the backlog shall have been let in after `kWebBacklogMax`, a portful at a time.
std::chrono::milliseconds WebPort::look_for_grace() const {
  tcp_info info{};
  socklen_t size = sizeof info;
  // Of a listening socket this is the length of the backlog. Unix sockets do not tell theirs.
  const bool is_known = bound_.family() != AF_UNIX &&
                        ::getsockopt(bound_.descriptor(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0;
  if (!is_known || info.tcpi_unacked == 0) return kWebGrace;
  const std::size_t rounds = 1 + (info.tcpi_unacked - 1) / parts_.connections_max;
  return kWebBacklogMax / static_cast<int>(rounds);
}

/// The connection to replace first: one that has its last answer. A body that is arriving was let
/// in by its head, so among the connections that can be replaced now it is the last.
WebPort::Connections::iterator WebPort::find_replaceable(Connections& waiting) const {
  const auto now = WebStream::Steady::now();
  const auto rank = [this, now](const Connection& connection) {
    const auto at = makes_room_at(connection);
    return std::tuple(std::max(at, now), connection.phase != Phase::kLeaving,
                      connection.stream->awaits_body(), at);
  };
  return std::min_element(
      waiting.begin(), waiting.end(),
      [&rank](const Connection& a, const Connection& b) { return rank(a) < rank(b); });
}

/// When there is room for a new connection. Connections that are being answered have their places
/// until they are back.
WebPort::TimePoint WebPort::has_room_at(Connections& waiting) const {
  CHECK(connection_count_ <= parts_.connections_max);
  if (connection_count_ < parts_.connections_max) return TimePoint::min();
  const auto replaceable = find_replaceable(waiting);
  return replaceable == waiting.end() ? TimePoint::max() : makes_room_at(*replaceable);
}

void WebPort::accept_all(Connections& waiting) {
  std::shared_ptr<const TlsContext> tls;  // keeps the certificate, which may be exchanged meanwhile
  {
    const std::lock_guard guard(mutex_);
    tls = tls_;
  }
  const bool is_encrypted = tls && bound_.family() != AF_UNIX;
  while (has_room_at(waiting) <= WebStream::Steady::now()) {
    sockaddr_storage storage{};
    auto* const address = reinterpret_cast<sockaddr*>(&storage);
    socklen_t size = sizeof storage;
    const int descriptor = ::accept4(bound_.descriptor(), address, &size, SOCK_CLOEXEC);
    if (descriptor < 0) break;
    // Only now: without a new connection nothing is replaced.
    if (connection_count_ >= parts_.connections_max) {
      waiting.erase(find_replaceable(waiting));
      --connection_count_;
    }
    ++connection_count_;
    auto tls_stream = is_encrypted ? std::make_unique<TlsStream>(*tls) : nullptr;
    waiting.push_back({.stream = std::make_unique<WebStream>(descriptor, std::move(tls_stream)),
                       .peer = peer_of(address),
                       .since = WebStream::Steady::now()});
  }
}

void WebPort::take_returned(Connections& waiting) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(wake_descriptor_, &count, sizeof count);
  const std::lock_guard guard(mutex_);
  for (Connection& each : returned_) waiting.push_back(std::move(each));
  returned_.clear();
}

void WebPort::hand_over(Connection connection) {
  const std::lock_guard guard(mutex_);
  ready_.push_back(std::move(connection));
  has_work_.notify_one();
}

// ---- the threads that answer --------------------------------------------------------------------

void WebPort::answer_requests() {
  WebEngine engine(parts_.answers, body_room_);
  while (std::optional<Connection> connection = next_ready()) {
    process(std::move(*connection), engine);
  }
}

std::optional<WebPort::Connection> WebPort::next_ready() {
  std::unique_lock lock(mutex_);
  has_work_.wait(lock, [this] { return !ready_.empty() || is_closing_; });
  if (ready_.empty()) return std::nullopt;
  Connection connection = std::move(ready_.front());
  ready_.pop_front();
  return connection;
}

void WebPort::process(Connection connection, WebEngine& engine) {
  // A delayed request is complete already.
  if (!connection.turn && !connection.stream->receive()) {
    return give_back(std::move(connection), false);
  }
  if (!connection.stream->has_request()) {
    note_arriving(connection);
    return give_back(std::move(connection), true);
  }
  const bool is_change = connection.stream->is_asked_by("POST");
  if (is_change && !begin_change(connection)) return;
  const bool stays =
      is_delayed(connection) ? connection.turn.has_value() : serve(connection, engine);
  if (is_change) end_change();
  give_back(std::move(connection), stays);
}

/// False: too many changes wait for the disk already, and the connection now waits for one of them.
bool WebPort::begin_change(Connection& connection) {
  const std::lock_guard guard(mutex_);
  if (changes_ < kWebChangesMax) {
    ++changes_;
    return true;
  }
  change_waiters_.push_back(std::move(connection));
  return false;
}

void WebPort::end_change() {
  const std::lock_guard guard(mutex_);
  CHECK(changes_ > 0);
  --changes_;
  if (change_waiters_.empty()) return;
  ready_.push_back(std::move(change_waiters_.front()));
  change_waiters_.pop_front();
  has_work_.notify_one();
}

/// True when the request must wait before its password is checked; without a turn, so many wait
/// that the connection is closed. The thread that would process the request asks: so of many
/// requests that come at once from one address, at most one for each thread is processed before the
/// address counts as slow.
bool WebPort::is_delayed(Connection& connection) {
  if (connection.turn) {
    logins_.leave(*connection.turn);
    connection.turn.reset();
    return false;
  }
  if (connection.is_logged_in || !logins_.is_slow(connection.peer)) return false;
  connection.turn = logins_.wait(connection.peer);
  if (connection.turn) enter(connection, Phase::kDelayed);
  return true;
}

/// True when the connection stays: for another request, or until its client has noticed the end.
bool WebPort::serve(Connection& connection, WebEngine& engine) {
  const WebEngine::Served served = engine.serve(*connection.stream);
  if (served.login == http::Login::kWrong) logins_.note_failure(connection.peer);
  if (served.login == http::Login::kRight) connection.is_logged_in = true;
  if (served.is_arriving) {
    note_arriving(connection);
    return true;
  }
  if (connection.stream->has_output()) {
    enter(connection, served.can_go_on ? Phase::kSending : Phase::kSendingLast);
    return true;
  }
  if (served.can_go_on) {
    enter(connection, Phase::kIdle);
    return true;
  }
  if (!served.is_cut) return false;
  connection.stream->finish();
  enter(connection, Phase::kLeaving);
  return true;
}

/// Closes the connection, or passes it on: to the next thread if another request is complete, else
/// to the thread that watches.
void WebPort::give_back(Connection connection, bool stays) {
  if (!stays || is_closing_) {
    connection.stream.reset();
    if (connection_count_-- == parts_.connections_max) wake();
    return;
  }
  const bool takes_requests =
      connection.phase == Phase::kIdle || connection.phase == Phase::kArriving;
  if (takes_requests && connection.stream->has_request()) return hand_over(std::move(connection));
  const std::lock_guard guard(mutex_);
  returned_.push_back(std::move(connection));
  wake();
}

}  // namespace millrace::server
