#include "server/net/listener.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <asio/basic_socket_acceptor.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
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

struct Listener::Door {
  using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;
  Acceptor acceptor;
  Listener* owner;  ///< null: closed
};

Listener::Listener(BoundSocket socket, Parts parts)
    : bound_(std::move(socket)), parts_(std::move(parts)), failures_(kAcceptFailureLogInterval) {}

Listener::~Listener() {
  close();
}

Outcome<Done> Listener::listen(Accept accept) {
  accept_ = std::move(accept);
  const auto problem = [this](const std::string& why) {
    return Problem{"cannot listen on " + address().text() + ": " + why};
  };
  // Somebody else may accept the client that we were told of, where the socket was inherited.
  const int flags = ::fcntl(descriptor(), F_GETFL);
  if (flags < 0 || ::fcntl(descriptor(), F_SETFL, flags | O_NONBLOCK) < 0) {
    return problem(error_text());
  }
  if (::listen(descriptor(), kBacklog) < 0) return problem(error_text());
  // Shared: see the header.
  door_ = std::make_shared<Door>(
      Door{.acceptor = Door::Acceptor(parts_.poller.context()), .owner = this});
  asio::error_code error;
  const asio::generic::stream_protocol protocol(bound_.family(), 0);
  door_->acceptor.assign(protocol, descriptor(), error);
  if (error) return problem(error.message());
  await_client();
  return Done{};
}

void Listener::await_client() {
  door_->acceptor.async_wait(Door::Acceptor::wait_read, [door = door_](const asio::error_code&) {
    if (door->owner != nullptr) door->owner->accept();
  });
}

void Listener::accept() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    // Whoever is let in may close the port.
    if (!door_) return;
    if (accept_one()) continue;
    if (!is_pausing_) await_client();
    return;
  }
  if (door_) await_client();
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
  is_pausing_ = true;
  parts_.ticker.plan(*this, now + kAcceptPause);
}

void Listener::expire(Time) {
  is_pausing_ = false;
  await_client();
}

void Listener::close() {
  if (descriptor() < 0) return;
  parts_.ticker.plan(*this, kNever);
  bound_.remove_file();
  if (door_) {
    door_->owner = nullptr;
    asio::error_code ignored;
    (void)door_->acceptor.release(ignored);
    door_.reset();
  }
  ::close(bound_.release());
}

}  // namespace millrace::server
