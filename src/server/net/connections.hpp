#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>

#include "core/ports/session.hpp"
#include "server/net/net.hpp"
#include "server/net/tls.hpp"
#include "server/turn/client_session.hpp"
#include "server/turn/turn_budget.hpp"

namespace millrace::server {

/// When all output that waits to be sent takes more than this, clients that do not read are
/// dropped: see `Connections::drop_slow_readers`.
inline constexpr std::size_t kUnsentBytesMax = std::size_t{256} << 20;

/// All clients of the job ports: their sessions, which are served in turn.
class Connections {
 public:
  struct Parts {
    Net& net;
    Turn& turn;
    Ticker& ticker;
    Clock& clock;
    const Log& log;
    std::size_t unsent_bytes_max;
    std::size_t kept_input_bytes_max;
    /// How much input of clients that are gone still takes memory. Not empty.
    std::function<std::size_t()> left_behind_bytes;
    bool is_fetch_strict = false;  ///< see `ClientSession::Parts`
    /// Called when a connection's socket, with this descriptor, is closed. May be empty.
    std::function<void(int descriptor)> on_removed;
  };

  explicit Connections(Parts parts);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  /// Serves a client. `descriptor` becomes ours. `tls`: null on a port without encryption.
  void add(int descriptor, std::unique_ptr<TlsStream> tls, std::unique_ptr<Session> session);

  /// Those that were closed and not removed yet included.
  [[nodiscard]] std::size_t count() const { return all_.size(); }

  /// To be called once a turn: counts the turn's output anew, drops clients that do not read when
  /// too much waits to be sent, and counts what clients that are gone have left behind.
  void limit_memory();

  /// Removes some of those that were closed.
  void remove_closed();

  /// The server stops: see `ClientSession::stop`.
  void stop();

  void drop_all();

  /// Drops and removes them all, when there is no further turn to do it in.
  void end();

  /// Takes what arrived, and executes as much as one turn should.
  void serve(Batch<Arrival>& arrived);
  /// `serve` has something to do, though nothing has arrived.
  [[nodiscard]] bool has_ready() const;

 private:
  struct Client : ClientSession {
    using ClientSession::ClientSession;
    std::list<Client>::iterator place;
    int descriptor = -1;  ///< of its socket, as a name
  };

  void take(const Arrival& arrival);
  void serve_ready();
  void serve_first(std::deque<ClientSession*>& queue, std::size_t bytes_max);
  [[nodiscard]] bool is_turn_full();
  void drop_slow_readers();

  const Parts parts_;
  KeptInput kept_input_;
  ClientSession::Parts session_parts_;
  TurnBudget budget_;
  Batch<Arrival> later_;
  std::deque<Client*> closed_;
  std::list<Client> all_;
};

/// To close a socket takes the system several microseconds.
inline constexpr std::size_t kRemovalsPerTurn = 16;

/// How often a client is served in a turn, a little each time, while it has more: then the turn's
/// replies leave.
inline constexpr int kRoundsPerTurn = kInputShareBytes / kServedBytesMin;

}  // namespace millrace::server
