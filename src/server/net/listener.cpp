#include "server/net/listener.hpp"

#include <asio/redirect_error.hpp>
#include <utility>

namespace millrace::server {
namespace {

constexpr Duration kFailureLogInterval = 10s;

}  // namespace

Listener::Listener(BoundSocket socket, Parts parts)
    : bound_(std::move(socket)),
      parts_(parts),
      acceptor_(parts.loop, asio::generic::stream_protocol(bound_.family(), 0), bound_.release()),
      pause_(parts.loop),
      failures_(kFailureLogInterval) {}

Listener::~Listener() {
  close();
}

Outcome<Done> Listener::listen() {
  asio::error_code error;
  acceptor_.listen(kBacklog, error);
  if (error) {
    return Problem{"cannot listen on " + address().text() + ": " + error.message()};
  }
  return Done{};
}

Task<void> Listener::accept_loop(Accept accept) {
  while (acceptor_.is_open()) {
    if (parts_.has_room && !parts_.has_room()) {
      co_await pause_accepting("as many clients as there are descriptors for");
      continue;
    }
    Socket socket(parts_.loop);
    asio::error_code error;
    co_await acceptor_.async_accept(socket, asio::redirect_error(kAwait, error));
    if (!acceptor_.is_open()) break;
    if (!error) {
      accept(std::move(socket));
      continue;
    }
    if (error == asio::error::connection_aborted || error == asio::error::interrupted) continue;
    co_await pause_accepting(error.message());
  }
}

/// Trying again at once would only burn the time that those already connected need to finish and
/// make room.
Task<void> Listener::pause_accepting(std::string why) {
  if (failures_.admits(parts_.clock.now())) {
    parts_.log.event(
        "accept_failed",
        {{"address", address().text()}, {"error", why}, {"not_logged", failures_.skipped()}});
  }
  asio::error_code error;
  pause_.expires_after(kAcceptPause);
  co_await pause_.async_wait(asio::redirect_error(kAwait, error));
}

void Listener::close() {
  if (!acceptor_.is_open()) return;
  bound_.remove_file();
  asio::error_code error;
  acceptor_.close(error);
  pause_.cancel();
}

}  // namespace millrace::server
