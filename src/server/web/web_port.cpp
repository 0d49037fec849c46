#include "server/web/web_port.hpp"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <cerrno>
#include <exception>
#include <utility>

#include "base/check.hpp"
#include "base/limits.hpp"
#include "server/net/listener.hpp"
#include "server/net/peer.hpp"

namespace millrace::server {

WebPort::WebPort(BoundSocket socket, Parts parts)
    : bound_(std::move(socket)), parts_(std::move(parts)) {
  asio::post(worker_, [] { pthread_setname_np(pthread_self(), "web_work"); });
}

WebPort::~WebPort() {
  CHECK(!thread_.joinable());
}

Outcome<Done> WebPort::listen() {
  auto socket = bound_.duplicate();
  if (!socket) return socket.error();
  const asio::generic::stream_protocol protocol(bound_.family(), 0);
  asio::error_code error;
  acceptor_.assign(protocol, socket->descriptor(), error);
  if (!error) (void)socket->release();
  if (!error) acceptor_.non_blocking(true, error);
  if (!error) acceptor_.listen(kBacklog, error);
  if (error) {
    return Problem{"cannot listen on " + bound_.address().text() + ": " + error.message()};
  }
  wait_for_client();
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "web");
  return Done{};
}

void WebPort::run() {
  for (;;) {
    try {
      context_.run();
      return;
    } catch (const std::exception&) {
      // Our bug. It costs one client its answer: the limits of its connection go on.
    }
  }
}

void WebPort::set_tls(std::shared_ptr<const TlsContext> tls) {  // shared as in Parts
  post([this, tls = std::move(tls)] { parts_.tls = tls; });
}

void WebPort::post(std::function<void()> call) {
  asio::post(context_, std::move(call));
}

void WebPort::close() {
  if (thread_.joinable()) post([this] { end(); });
}

void WebPort::join() {
  if (thread_.joinable()) thread_.join();
  worker_.join();
}

/// Its thread ends with the last connection: each of them has a timer that waits.
void WebPort::end() {
  is_closing_ = true;
  bound_.remove_file();
  acceptor_.close();
  pause_.cancel();
  const Connections all = connections_;
  for (const auto& each : all) each->end();
}

void WebPort::work_off(bool is_long, std::function<void()> work,
                       std::function<void(bool is_good)> then) {
  auto is_done_well = [work = std::move(work)] {
    try {
      work();
      return true;
    } catch (const std::exception&) {
      return false;
    }
  };
  if (!is_long) return then(is_done_well());
  // Not copied, since they may hold megabytes.
  asio::post(worker_, [this, is_done_well = std::move(is_done_well), then = std::move(then)] {
    post([then, is_good = is_done_well()] { then(is_good); });
  });
}

std::optional<std::size_t> WebPort::take_body_room(std::size_t bytes) {
  if (bytes <= kPipelinedBytesMax) return 0;
  const bool fits = bytes <= kWebBodiesMax && bodies_bytes_ <= kWebBodiesMax - bytes;
  if (!fits && bodies_bytes_ > 0) return std::nullopt;
  bodies_bytes_ += bytes;
  return bytes;
}

// ---- connections --------------------------------------------------------------------------------

void WebPort::wait_for_client() {
  acceptor_.async_wait(acceptor_.wait_read, [this](const asio::error_code& error) {
    if (!error && !is_closing_) accept();
  });
}

/// Some at a time, so that those let in have their turn before they have to give way.
void WebPort::accept() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    if (accept_one()) continue;
    return errno == EAGAIN ? wait_for_client() : pause();
  }
  wait_for_client();
}

/// False when nobody else can be let in now. `errno` says why.
bool WebPort::accept_one() {
  const bool is_full = connections_.size() >= parts_.connections_max;
  WebConnection* const replaced = is_full ? find_replaceable() : nullptr;
  if (is_full && replaced == nullptr) {
    errno = EMFILE;
    return false;
  }
  sockaddr_storage storage{};
  auto* const address = reinterpret_cast<sockaddr*>(&storage);
  socklen_t size = sizeof storage;
  // Asio's own would leave it open in programs that are started.
  const int accepted =
      ::accept4(acceptor_.native_handle(), address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (accepted < 0) return errno == ECONNABORTED || errno == EINTR;
  WebConnection::Socket socket(context_);
  asio::error_code error;
  socket.assign(asio::generic::stream_protocol(bound_.family(), 0), accepted, error);
  if (error) {
    ::close(accepted);
    errno = error.value();
    return false;
  }
  if (replaced != nullptr) replaced->close();
  socket.non_blocking(true, error);
  const bool is_encrypted = parts_.tls && bound_.family() != AF_UNIX;
  // Shared: see there.
  const auto connection = std::make_shared<WebConnection>(
      *this, std::move(socket), is_encrypted ? std::make_unique<TlsStream>(*parts_.tls) : nullptr,
      WebConnection::Peer{.id = peer_of(address), .address = shown_address(address)});
  connections_.push_back(connection);
  // At once: what has not been read cannot be told from a client that sends nothing.
  try {
    connection->start();
  } catch (const std::exception&) {
    connection->close();  // our bug, as in `run`
  }
  return true;
}

/// Null: all connections keep their places.
WebConnection* WebPort::find_replaceable() {
  WebConnection* first = nullptr;
  std::optional<WebConnection::Place> first_place;
  for (const auto& each : connections_) {
    const auto place = each->gives_way();
    if (!place || (first_place && *first_place <= *place)) continue;
    first = each.get();
    first_place = place;
  }
  return first;
}

/// Trying again at once would only burn the time in which others make room.
void WebPort::pause() {
  pause_.expires_after(kWebGrace);
  pause_.async_wait([this](const asio::error_code& error) {
    if (!error && !is_closing_) accept();
  });
}

void WebPort::remove(const WebConnection& connection) {
  std::erase_if(connections_, [&](const auto& each) { return each.get() == &connection; });
}

}  // namespace millrace::server
