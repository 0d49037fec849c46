#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ports/shared_journal.hpp"
#include "server/net/peer.hpp"
#include "server/relay/name_lookup.hpp"
#include "server/relay/relay_port.hpp"

namespace millrace::server {

/// Where this server listens, and so where it must not connect as a standby. The address that the
/// log has of the leader may lead here, or to another program of this machine, since a name or
/// 127.0.0.1 is another machine for each reader.
class OwnPorts {
 public:
  /// `descriptor` has its address. One that is no IP address is a unix socket.
  void add(std::string name, int descriptor);

  /// Whether what comes to the port of that name, which this server may not have, may be passed on
  /// to `to`. Never to this server. And to loopback only from loopback: else programs that are
  /// closed to other machines would be open to them.
  [[nodiscard]] bool may_reach(std::string_view name, const SocketName& to) const;

 private:
  struct Port {
    std::string name;
    std::optional<Place> place;  ///< nullopt: a unix socket
    [[nodiscard]] bool is_local() const { return !place || place->is_loopback(); }
  };

  [[nodiscard]] bool is_here(const Place& to) const;

  std::vector<Port> ports_;
};

/// What a server does with its clients while another one leads the log: it passes them on to the
/// leader that the log names. Never to itself, nor from other machines to loopback (`OwnPorts`),
/// and never to a leader that it only remembers: a server that has heard nothing yet may remember
/// itself, through others.
class Relay {
 public:
  struct Options {
    std::string node;           ///< the name of this server
    std::string own_ports;      ///< as other servers are told of them
    bool is_encrypted = false;  ///< clients speak TLS, those of unix sockets excepted
    OwnPorts listening = {};    ///< where this server listens
  };

  /// `poller` outlives it.
  Relay(Poller& poller, Options options) : poller_(poller), options_(std::move(options)) {}
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  /// This server has a port of this name: whether the leader can be reached there is looked at.
  void open(const std::string& port) { (void)port_of(port); }

  /// Passes a client of the port of this name on. One that is a connection of ours, which was to
  /// lead to the leader, is closed.
  void add(const std::string& port, Listener::Accepted accepted, Time now);

  /// The leader, as the log tells it at present; nullopt: none. Clients that have reached another
  /// one are closed. Those of a server that leads once more stay: what that server has closed is
  /// closed already, and this one may have heard of its lead long after clients have reached it.
  /// Answers how many were closed.
  std::size_t follow(const std::optional<SharedJournal::Leader>& leader);

  /// To be called every some milliseconds, outside of the poller's `take`. Refuses who has waited
  /// for `kRelayWaitMax`; and who asks for something when there was no leader for so long.
  void work(Time now);

  /// The clients of that port that have not reached a leader. Nothing of theirs was read.
  [[nodiscard]] std::vector<Listener::Accepted> give_back(const std::string& port);

  /// "host:port" of that port of the leader; empty: not known, or out of reach.
  [[nodiscard]] std::string leader_address(const std::string& port);

  /// The ports of the leader to which this server cannot pass clients on: `show_port` of each.
  [[nodiscard]] std::vector<std::string> out_of_reach() const;

  /// How many clients there are, and how many of them have reached the leader.
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] std::size_t count(const std::string& port) const;
  [[nodiscard]] std::size_t relayed_count() const;

 private:
  struct Port {
    Port(Poller& poller, RelayRoom& room, Refusal refusal)
        : clients(poller, room, std::move(refusal)), lookup(poller) {}
    RelayPort clients;
    std::optional<Address> leader;
    NameLookup lookup;
    bool is_looking_up = false;
    Time next_lookup{};
    bool is_out_of_reach = false;  ///< the leader's, as far as was looked
    std::optional<Time> out_of_reach_since;
    bool has_met_itself = false;  ///< a connection to the leader came to this server
  };
  /// What of a leader makes a difference.
  struct Followed {
    Epoch epoch{};
    std::string node;
    std::string notes;
    [[nodiscard]] bool is_same_server(const Followed& other) const {
      return node == other.node && notes == other.notes;
    }
    bool operator==(const Followed&) const = default;
  };

  Port& port_of(const std::string& name);
  void find_leader(const std::string& name, Port& port);
  void look_up(const std::string& name, Port& port, Time now);
  [[nodiscard]] bool is_ourselves(const Listener::Accepted& accepted);
  static void note_reach(const std::string& name, Port& port, Time now);

  Poller& poller_;
  const Options options_;
  RelayRoom room_{};
  std::optional<Followed> followed_;
  std::optional<Followed> last_followed_;  ///< relayed connections lead to it
  std::optional<Time> leaderless_since_;   ///< as far as `work` has seen
  std::map<std::string, Port> ports_;      ///< by name
};

/// A name that was not found is asked for again after this.
inline constexpr Duration kLookupRetry = std::chrono::seconds(1);

/// An address that has led to this server is tried again after this: it may have moved.
inline constexpr Duration kLoopRetry = std::chrono::seconds(10);

}  // namespace millrace::server
