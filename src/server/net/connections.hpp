#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "core/ports/session.hpp"
#include "server/net/client_socket.hpp"
#include "server/net/tls.hpp"
#include "server/turn/client_session.hpp"

namespace millrace::server {

/// When all output that waits to be sent takes more than this, clients that do not read are
/// dropped: see `Connections::drop_slow_readers`.
inline constexpr std::size_t kUnsentBytesMax = std::size_t{256} << 20;

/// All clients of the job ports: for each both halves of its connection.
class Connections {
 public:
  struct Parts {
    Poller& poller;
    Turn& turn;
    Ticker& ticker;
    Clock& clock;
    const Log& log;
    std::size_t unsent_bytes_max;
    std::size_t kept_input_bytes_max;
    bool is_fetch_strict = false;  ///< see `ClientSession::Parts`
    /// Called when a connection's socket, with this descriptor, is closed. May be empty.
    std::function<void(int descriptor)> on_removed;
  };

  explicit Connections(Parts parts);
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  /// Serves a client. `descriptor` becomes ours. `tls`: null on a port without encryption.
  void add(int descriptor, std::unique_ptr<TlsStream> tls, std::unique_ptr<Session> session);

  /// Those that were closed and not removed yet included.
  [[nodiscard]] std::size_t count() const { return all_.size(); }

  /// To be called once a turn: counts the turn's time and output anew, and drops clients that do
  /// not read when too much waits to be sent.
  void limit_unsent();

  /// Removes some of those that were closed.
  void remove_closed();

  /// The server stops: see `ClientSession::stop`.
  void stop();

  void drop_all();

 private:
  /// The session half is destroyed first, which drops the connection.
  struct Entry {
    ClientSocket socket_half;
    ClientSession session_half;
    Entry(int descriptor, std::unique_ptr<TlsStream> tls, std::unique_ptr<Session> session,
          ClientSocket::Parts& socket_parts, ClientSession::Parts& session_parts)
        : socket_half(descriptor, std::move(tls), socket_parts),
          session_half(std::move(session), socket_half, session_parts) {}
  };

  void drop_slow_readers();

  const Parts parts_;
  ClientSocket::Parts socket_parts_;
  KeptInput kept_input_;
  ClientSession::Parts session_parts_;
  std::deque<std::list<Entry>::iterator> closed_;
  std::list<Entry> all_;
};

/// To close a socket takes the system several microseconds.
inline constexpr std::size_t kRemovalsPerTurn = 16;

}  // namespace millrace::server
