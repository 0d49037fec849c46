#include "server/listener.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/redirect_error.hpp>
#include <cerrno>
#include <cstring>

namespace millrace::server {
namespace {

constexpr Duration kFailureLogInterval = 10s;

/// True when a server answers on the socket file. Not blocking: a full backlog is an answer too.
bool is_answered(const asio::local::stream_protocol::endpoint& endpoint) {
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (probe < 0) return true;
  const bool is_refused =
      ::connect(probe, endpoint.data(), static_cast<socklen_t>(endpoint.size())) != 0 &&
      errno == ECONNREFUSED;
  ::close(probe);
  return !is_refused;
}

/// The first IPv4 address, or else the first: a name such as localhost often has one of each, and
/// most clients are told the numbers of the former.
asio::ip::tcp::endpoint preferred(const asio::ip::tcp::resolver::results_type& found) {
  const auto is_v4 = [](const auto& entry) { return entry.endpoint().address().is_v4(); };
  const auto v4 = std::find_if(found.begin(), found.end(), is_v4);
  return (v4 != found.end() ? v4 : found.begin())->endpoint();
}

}  // namespace

Listener::Listener(const Address& address, Parts parts)
    : address_(address),
      parts_(parts),
      acceptor_(parts.loop),
      pause_(parts.loop),
      failures_(kFailureLogInterval) {}

Listener::~Listener() {
  close();
}

// ---- taking the address -------------------------------------------------------------------------

Outcome<std::unique_ptr<Listener>> Listener::bind(const Address& address, Parts parts) {
  std::unique_ptr<Listener> listener(new Listener(address, parts));
  const Outcome<Done> bound = address.is_unix() ? listener->bind_unix() : listener->bind_tcp();
  if (!bound) return bound.error();
  return listener;
}

Outcome<Done> Listener::bind_tcp() {
  asio::error_code error;
  asio::ip::tcp::resolver resolver(parts_.loop);
  const auto found = resolver.resolve(address_.host, std::to_string(address_.port),
                                      asio::ip::resolver_base::passive, error);
  if (error) return problem(error.message());
  const asio::ip::tcp::endpoint endpoint = preferred(found);
  is_local_ = endpoint.address().is_loopback();
  if (const auto bound = bind_endpoint(endpoint); !bound) return bound.error();
  sockaddr_storage chosen{};
  socklen_t size = sizeof chosen;
  if (getsockname(acceptor_.native_handle(), reinterpret_cast<sockaddr*>(&chosen), &size) != 0) {
    return problem(std::strerror(errno));
  }
  // The port stands at the same place for both families.
  address_.port = ntohs(reinterpret_cast<const sockaddr_in&>(chosen).sin_port);
  return Done{};
}

Outcome<Done> Listener::bind_unix() {
  const asio::local::stream_protocol::endpoint endpoint(address_.path);
  struct stat facts {};
  if (lstat(address_.path.c_str(), &facts) == 0) {
    if (!S_ISSOCK(facts.st_mode)) return problem("the file exists and is not a socket");
    if (is_answered(endpoint)) return problem("another server answers there");
    if (::unlink(address_.path.c_str()) != 0) return problem(std::strerror(errno));
    parts_.log.event("stale_socket_replaced", {{"path", address_.path}});
  }
  if (const auto bound = bind_endpoint(endpoint); !bound) return bound.error();
  file_ = identify(address_.path);
  return Done{};
}

/// What clients' sockets are to have is set here: they inherit it.
Outcome<Done> Listener::bind_endpoint(const Endpoint& endpoint) {
  asio::error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (error) return problem(error.message());
  acceptor_.set_option(Acceptor::reuse_address(true), error);
  if (!address_.is_unix()) {
    acceptor_.set_option(Socket::keep_alive(true), error);
    acceptor_.set_option(asio::ip::tcp::no_delay(true), error);
  }
  acceptor_.bind(endpoint, error);
  if (error) return problem(error.message());
  return Done{};
}

Problem Listener::problem(const std::string& why) const {
  return Problem{"cannot listen on " + address_.text() + ": " + why};
}

// ---- accepting ----------------------------------------------------------------------------------

Outcome<Done> Listener::listen() {
  asio::error_code error;
  acceptor_.listen(kBacklog, error);
  if (error) return problem(error.message());
  return Done{};
}

Task<void> Listener::accept_loop(Accept accept) {
  while (acceptor_.is_open()) {
    Socket socket(parts_.loop);
    asio::error_code error;
    co_await acceptor_.async_accept(socket, asio::redirect_error(kAwait, error));
    if (!acceptor_.is_open()) break;
    if (!error) {
      accept(std::move(socket));
      continue;
    }
    if (error == asio::error::connection_aborted || error == asio::error::interrupted) continue;
    // Out of descriptors or memory. The client stays in the backlog; trying at once would only burn
    // the time that those already connected need to finish and make room.
    if (failures_.admits(parts_.clock.now())) {
      parts_.log.event("accept_failed", {{"address", address_.text()},
                                         {"error", error.message()},
                                         {"not_logged", failures_.skipped()}});
    }
    pause_.expires_after(kAcceptPause);
    co_await pause_.async_wait(asio::redirect_error(kAwait, error));
  }
}

void Listener::close() {
  if (!acceptor_.is_open()) return;
  remove_file();
  asio::error_code error;
  acceptor_.close(error);
  pause_.cancel();
}

std::optional<Listener::FileIdentity> Listener::identify(const std::string& path) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) return std::nullopt;
  return FileIdentity{.device = facts.st_dev, .inode = facts.st_ino};
}

void Listener::remove_file() {
  if (file_ && identify(address_.path) == file_) ::unlink(address_.path.c_str());
  file_.reset();
}

}  // namespace millrace::server
