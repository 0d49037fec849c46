#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/net/listener.hpp"
#include "server/net/peer.hpp"
#include "server/process/clock.hpp"

namespace millrace::server {

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
