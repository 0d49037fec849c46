#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "server/net/peer.hpp"
#include "server/net/poller.hpp"
#include "server/relay/relay_pipe.hpp"

namespace millrace::server {

/// A client, and the connection to the leader that is made for it. Nothing of the client's is read
/// before the leader is reached. Bytes, and the end of either direction, are passed on as they
/// come. When the leader has ended its direction, or one of both cannot be reached any more, both
/// connections are closed.
///
///     kWaiting ──connect()──▶ kConnecting ──kReached──▶ kRelaying ──▶ kOver
///         ▲                       │                                     ▲
///         └─────kNotReached───────┘       any ────────close(), kOver────┘
///
/// Shared with its handlers, which may run after its end: then they do nothing.
class RelayedConnection : public std::enable_shared_from_this<RelayedConnection> {
 public:
  enum class Phase { kWaiting, kConnecting, kRelaying, kOver };
  enum class Event { kReached, kNotReached, kOver };

  struct Parts {
    Poller& poller;
    std::span<char> room;
    std::set<Route>& to_leader;       ///< connections to the leader: it adds and removes its own
    std::function<void(Event)> tell;  ///< not called any more once it is over
  };

  /// All parts outlive its end.
  explicit RelayedConnection(Parts parts);
  RelayedConnection(const RelayedConnection&) = delete;
  RelayedConnection& operator=(const RelayedConnection&) = delete;

  /// Call it once, first. `client` is a socket, and becomes ours. False: the system has no room for
  /// it, and it was closed.
  [[nodiscard]] bool begin(int client);

  /// Begins to connect to the leader. Only while waiting.
  void connect(const SocketName& leader);

  /// Connects no more, and waits again. Only while waiting or connecting.
  void wait();

  /// Hands over the client, from which nothing was read. Only while waiting or connecting; it is
  /// over then.
  [[nodiscard]] int release();

  /// Closes both sockets. The owner must do so, or `release`, and is not told.
  void close();

  [[nodiscard]] Phase phase() const { return phase_; }

  /// The client sends nothing more: it has ended its side, or is gone.
  [[nodiscard]] bool is_client_over();
  /// How much was sent on, in both directions.
  [[nodiscard]] std::uint64_t moved_bytes() const {
    return to_leader_ ? to_leader_->moved_bytes() + to_client_->moved_bytes() : 0;
  }

 private:
  void finish_connecting(const std::error_code& problem);
  void close_leader();
  void pass_on();
  void wait_for_more();
  void end();

  const Parts parts_;
  Phase phase_ = Phase::kWaiting;
  RelaySocket client_;
  RelaySocket leader_;
  int attempts_ = 0;            ///< to connect
  std::optional<Route> route_;  ///< of the leader's side
  std::optional<RelayPipe> to_leader_;
  std::optional<RelayPipe> to_client_;
};

}  // namespace millrace::server
