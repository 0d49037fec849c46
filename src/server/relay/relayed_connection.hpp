#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "server/net/peer.hpp"
#include "server/net/poller.hpp"
#include "server/relay/relay_pipe.hpp"

namespace millrace::server {

/// A client, and the connection to the leader that is made for it. Nothing of the client's is read
/// before the leader is reached. Bytes, and the end of either direction, are passed on as they
/// come. When the leader has ended its direction, or one of both cannot be reached any more, both
/// connections are closed.
///
///     kWaiting ──connect()──▶ kConnecting ──on_reached──▶ kRelaying ──▶ kOver
///         ▲                       │                                       ▲
///         └─────on_not_reached────┘       any ────────close(), on_over────┘
class RelayedConnection {
 public:
  enum class Phase { kWaiting, kConnecting, kRelaying, kOver };

  /// Is called in the poller's `take`. It must not destroy the connection in a call.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void on_reached() = 0;
    virtual void on_not_reached() = 0;
    virtual void on_over() = 0;
  };

  struct Parts {
    Poller& poller;
    RelayRoom& room;
    Owner& owner;
    std::set<Route>& to_leader;  ///< connections to the leader: it adds and removes its own
  };

  /// `client` is a socket that does not block; it becomes ours.
  RelayedConnection(int client, Parts parts);
  ~RelayedConnection() { close(); }
  RelayedConnection(const RelayedConnection&) = delete;
  RelayedConnection& operator=(const RelayedConnection&) = delete;

  /// Begins to tell the owner: call it once, first. False: the system has no room for the client.
  [[nodiscard]] bool begin();

  /// Begins to connect to the leader. Only while waiting. False: that cannot be begun, and it
  /// still waits.
  [[nodiscard]] bool connect(const SocketName& leader);

  /// Connects no more, and waits again. Only while waiting or connecting.
  void wait();

  /// Gives the client away, of whom nothing was read. Only while waiting or connecting; it is over
  /// then.
  [[nodiscard]] int release();

  /// Closes both sockets. The owner is not told.
  void close();

  [[nodiscard]] Phase phase() const { return phase_; }

  /// The client sends nothing more: it has ended its side, or is gone.
  [[nodiscard]] bool is_client_over() const { return is_client_over_; }
  /// How much was sent on, in both directions.
  [[nodiscard]] std::uint64_t moved_bytes() const {
    return to_leader_ ? to_leader_->moved_bytes() + to_client_->moved_bytes() : 0;
  }

 private:
  struct Side final : public Pollee {
    explicit Side(RelayedConnection& of, int socket) : connection(of), descriptor(socket) {}
    void on_events(SocketEvents events) override { connection.on_events(*this, events); }
    [[nodiscard]] bool on_served_again() override {
      connection.relay();
      return true;
    }
    void close(Poller& poller);

    RelayedConnection& connection;
    int descriptor;
  };

  void on_events(Side& side, SocketEvents events);
  void on_client(SocketEvents events);
  void on_leader(SocketEvents events);
  void finish_connecting();
  void close_leader();
  void relay();
  void end();

  Parts parts_;
  Phase phase_ = Phase::kWaiting;
  Side client_;
  Side leader_;
  bool is_client_over_ = false;
  std::optional<Route> route_;  ///< of the leader's side
  std::optional<RelayPipe> to_leader_;
  std::optional<RelayPipe> to_client_;
};

}  // namespace millrace::server
