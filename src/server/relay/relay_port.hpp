#pragma once

#include <array>
#include <asio/generic/stream_protocol.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/net/listener.hpp"
#include "server/net/peer.hpp"
#include "server/net/poller.hpp"
#include "server/process/clock.hpp"

namespace millrace::server {

using RelaySocket = asio::generic::stream_protocol::socket;

/// One direction of a relayed connection: what arrives at a socket is sent on another one, and then
/// its end. While the receiver takes nothing, at most one room is kept, and the rest is left to the
/// sender's socket: so the sender is held up as by the receiver itself.
class RelayPipe {
 public:
  enum class State {
    kOpen,
    kEnded,           ///< everything was sent on, and the end too
    kSenderBroken,    ///< nothing more can be received
    kReceiverBroken,  ///< nothing more can be sent
  };

  /// Sockets that do not block; they are the owner's.
  RelayPipe(RelaySocket& from, RelaySocket& to) : from_(from), to_(to) {}

  /// Moves what can be moved without waiting, for one turn.
  void work(std::span<char> room);

  /// Calls `handler` when there is something to do for `work`, once, whoever asks meanwhile.
  template <typename Handler>
  void wait(Handler handler) {
    if (state_ != State::kOpen || std::exchange(waits_, true)) return;
    auto note = [this, handler = std::move(handler)](const std::error_code& problem) {
      waits_ = false;
      handler(problem);
    };
    if (is_full()) return to_.async_wait(RelaySocket::wait_write, std::move(note));
    from_.async_wait(RelaySocket::wait_read, std::move(note));
  }

  [[nodiscard]] State state() const { return state_; }

  /// Nothing has happened since `wait`.
  [[nodiscard]] bool waits() const { return waits_; }

  /// The receiver takes nothing at present, so nothing is received.
  [[nodiscard]] bool is_full() const { return !kept_.empty(); }

  /// So much was sent on.
  [[nodiscard]] std::uint64_t moved_bytes() const { return moved_bytes_; }

 private:
  void send(std::string_view bytes);
  [[nodiscard]] std::size_t receive(std::span<char> room);

  RelaySocket& from_;
  RelaySocket& to_;
  State state_ = State::kOpen;
  std::uint64_t moved_bytes_ = 0;
  std::string kept_;
  bool waits_ = false;
};

/// How much a pipe moves before others have their turn: so many rooms.
inline constexpr int kRelayRoundsPerTurn = 4;

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

class RelayedConnection;

/// What has arrived and cannot be sent on at once. One for all connections, since they work one at
/// a time.
using RelayRoom = std::array<char, 64 * 1024>;

/// What a client is told that is closed, since there is no leader.
struct Refusal {
  std::string text;          ///< in the port's protocol; none where the client speaks TLS
  bool is_greeting = false;  ///< the server speaks first there; else the client has asked something
};

/// So many clients of a port are relayed or wait; further ones are refused. A loop of several
/// servers, which no one of them sees, then ends too.
inline constexpr std::size_t kRelayedClientsMax = 10'000;

/// The clients of one port of a server that does not lead, and their connections to that port of
/// the leader. While the leader is not known, or cannot be reached, clients wait.
class RelayPort {
 public:
  /// Both must outlive it.
  RelayPort(Poller& poller, RelayRoom& room, Refusal refusal,
            std::size_t clients_max = kRelayedClientsMax)
      : poller_(poller), room_(room), refusal_(std::move(refusal)), clients_max_(clients_max) {}
  RelayPort(const RelayPort&) = delete;
  RelayPort& operator=(const RelayPort&) = delete;

  void add(Listener::Accepted accepted, Time now);

  /// Where the port of the leader is; nullopt: unknown. Waiting clients connect to it.
  void set_leader(std::optional<SocketName> leader);

  /// What clients are told that are refused from now on.
  void set_refusal(Refusal refusal) { refusal_ = std::move(refusal); }

  /// Whether this is one of our connections to the leader: a client that comes by it is ourselves.
  [[nodiscard]] bool is_to_leader(const Route& ends) const { return to_leader_.contains(ends); }

  /// Closes the connections that have reached a leader.
  void drop_relayed() { relayed_.clear(); }

  /// Tries again to reach the leader, and refuses clients that have waited for `kRelayWaitMax`;
  /// `is_hopeless`: also those that would be told something. Closes clients that have ended their
  /// side once nothing was passed on for `kRelayEndMax`. To be called every few milliseconds,
  /// outside of the poller's `take`.
  void work(Time now, bool is_hopeless = false);

  /// The clients that have not reached a leader. Nothing of theirs was read.
  [[nodiscard]] std::vector<Listener::Accepted> give_back();

  [[nodiscard]] std::size_t count() const { return waiting_.size() + relayed_.size(); }
  [[nodiscard]] std::size_t relayed_count() const { return relayed_.size(); }

 private:
  /// A client, and where it is in the lists.
  struct Entry {
    Entry(Listener::Accepted accepted, Time until)
        : client(std::move(accepted)), waits_until(until) {}
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    Listener::Accepted client;
    Time waits_until;
    std::shared_ptr<RelayedConnection> connection = {};  ///< shared with its handlers
    std::list<Entry>::iterator place = {};
    bool is_relayed = false;
    std::optional<Time> ends_at;    ///< its client has ended its side
    std::uint64_t moved_bytes = 0;  ///< by then
  };
  using Entries = std::list<Entry>;

  [[nodiscard]] bool begin(Entry& entry);
  void note_reached(Entry& entry);
  void try_all();
  void refuse_all();
  [[nodiscard]] bool can_be_refused(const Entry& entry) const;
  void refuse(Entry& entry);
  [[nodiscard]] bool try_first();
  void end_silent(Time now);

  Poller& poller_;
  RelayRoom& room_;
  Refusal refusal_;
  const std::size_t clients_max_;
  std::set<Route> to_leader_;  ///< outlives the entries
  std::optional<SocketName> leader_;
  bool is_reachable_ = true;   ///< as far as was tried
  bool must_try_all_ = false;  ///< in the next `work`
  Time next_try_{};
  Time next_look_{};  ///< for clients that have ended their side
  Entries waiting_;   ///< or connecting; in the order in which they came
  Entries relayed_;
};

/// How long a client waits for a leader. A takeover takes less, and a client that waits sees only
/// a delay.
inline constexpr Duration kRelayWaitMax = std::chrono::seconds(10);

/// A client that has ended its side may wait for answers. One that is gone looks the same.
inline constexpr Duration kRelayEndMax = std::chrono::seconds(30);

/// A leader that was not reached is tried again after this, for one client first.
inline constexpr Duration kRelayRetry = std::chrono::milliseconds(50);

}  // namespace millrace::server
