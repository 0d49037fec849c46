#include "server/net/listener.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "server/net/peer.hpp"

namespace millrace::server {
namespace {

constexpr Duration kAcceptFailureLogInterval = 10s;

std::string error_text() {
  return std::strerror(errno);
}

}  // namespace

Listener::Listener(BoundSocket socket, Parts parts)
    : bound_(std::move(socket)), parts_(std::move(parts)), failures_(kAcceptFailureLogInterval) {}

Listener::~Listener() {
  close();
}

Outcome<Done> Listener::listen(Accept accept) {
  accept_ = std::move(accept);
  const auto problem = [this] {
    return Problem{"cannot listen on " + address().text() + ": " + error_text()};
  };
  // Somebody else may accept the client that we were told of, where the socket was inherited.
  const int flags = ::fcntl(descriptor(), F_GETFL);
  if (flags < 0 || ::fcntl(descriptor(), F_SETFL, flags | O_NONBLOCK) < 0) return problem();
  if (::listen(descriptor(), kBacklog) < 0 || !watch()) return problem();
  return Done{};
}

/// Reported in each turn: a client that is not accepted in one is accepted in the next.
bool Listener::watch() {
  return parts_.poller.watch(descriptor(), *this, Poller::Trigger::kAlways);
}

void Listener::on_events(SocketEvents) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    if (!is_open_ || !accept_one()) return;
  }
}

/// False when no more are to be accepted in this turn.
bool Listener::accept_one() {
  if (parts_.has_room && !parts_.has_room()) {
    pause("the limit of open files allows no more clients");
    return false;
  }
  sockaddr_storage storage{};
  auto* const address = reinterpret_cast<sockaddr*>(&storage);
  socklen_t size = sizeof storage;
  const int client = ::accept4(descriptor(), address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client >= 0) {
    accept_(
        {.descriptor = client, .peer = peer_of(address), .is_unix = bound_.family() == AF_UNIX});
    return true;
  }
  if (errno == EAGAIN) return false;
  // A client that went away while it waited is no reason to keep others waiting.
  if (errno == ECONNABORTED || errno == EINTR) return true;
  pause(error_text());
  return false;
}

/// Trying again at once would only burn the time that those already connected need to finish and
/// make room.
void Listener::pause(const std::string& why) {
  const Time now = parts_.clock.now();
  if (failures_.admits(now)) {
    parts_.log.event(
        "accept_failed",
        {{"address", address().text()}, {"error", why}, {"not_logged", failures_.skipped()}});
  }
  parts_.poller.forget(descriptor(), *this);
  parts_.ticker.plan(*this, now + kAcceptPause);
}

void Listener::expire(Time now) {
  if (!watch()) parts_.ticker.plan(*this, now + kAcceptPause);
}

void Listener::close() {
  if (!std::exchange(is_open_, false)) return;
  parts_.ticker.plan(*this, kNever);
  parts_.poller.forget(descriptor(), *this);
  bound_.remove_file();
  ::close(bound_.release());
}

}  // namespace millrace::server
