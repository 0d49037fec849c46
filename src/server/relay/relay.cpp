#include "server/relay/relay.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "server/relay/leader_address.hpp"

namespace millrace::server {
namespace {

constexpr const char* kNoLeader = "no server leads the shared log at present, try again later";
constexpr const char* kOutOfReach =
    "this server cannot reach the leader, see leader_out_of_reach in its log; try another server";

Refusal refusal_of(std::string_view port, const std::string& why) {
  if (port == "beanstalk") return {.text = "DRAINING\r\n"};
  if (port == "faktory") {
    return {.text = "-ERR " + why + "\r\n", .is_greeting = true};
  }
  const std::string body = why + "\n";
  return {.text =
              "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\n"
              "Content-Length: " +
              std::to_string(body.size()) +
              "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n" + body};
}

}  // namespace

void OwnPorts::add(std::string name, int descriptor) {
  ports_.push_back({.name = std::move(name), .place = near_end(descriptor)});
}

bool OwnPorts::may_reach(std::string_view name, const SocketName& to) const {
  const auto place = place_of(reinterpret_cast<const sockaddr*>(&to.storage));
  if (!place || is_here(*place)) return false;
  // The system connects to loopback for the address that stands for all.
  if (!place->is_loopback() && !place->is_any()) return true;
  const auto is_it = [&](const Port& port) { return port.name == name; };
  const auto own = std::find_if(ports_.begin(), ports_.end(), is_it);
  if (own != ports_.end()) return own->is_local();
  return std::all_of(ports_.begin(), ports_.end(),
                     [](const Port& port) { return port.is_local(); });
}

bool OwnPorts::is_here(const Place& to) const {
  return std::any_of(ports_.begin(), ports_.end(), [&](const Port& port) {
    if (!port.place || port.place->port != to.port) return false;
    if (port.place->address == to.address) return true;
    if (to.is_any()) return port.place->is_any() || port.place->is_loopback();
    return port.place->is_any() && (to.is_loopback() || is_of_this_machine(to));
  });
}

void Relay::add(const std::string& port, Listener::Accepted accepted, Time now) {
  if (is_ourselves(accepted)) {
    ::close(accepted.descriptor);
    return;
  }
  accepted.is_encrypted = options_.is_encrypted && !accepted.is_unix;
  port_of(port).clients.add(std::move(accepted), now);
}

/// Names and addresses do not tell everything: those of clusters move.
bool Relay::is_ourselves(const Listener::Accepted& accepted) {
  const auto from = accepted.is_unix ? std::nullopt : far_end(accepted.descriptor);
  const auto to = near_end(accepted.descriptor);
  if (!from || !to) return false;
  for (auto& [name, port] : ports_) {
    if (!port.clients.is_to_leader({.near = *from, .far = *to})) continue;
    port.has_met_itself = true;
    return true;
  }
  return false;
}

Relay::Port& Relay::port_of(const std::string& name) {
  const auto found = ports_.find(name);
  if (found != ports_.end()) return found->second;
  Port& port = ports_.try_emplace(name, poller_, room_, refusal_of(name, kNoLeader)).first->second;
  find_leader(name, port);
  return port;
}

std::size_t Relay::follow(const std::optional<SharedJournal::Leader>& leader) {
  std::optional<Followed> followed;
  if (leader && !leader->has_released && !leader->holds && leader->node != options_.node) {
    followed = Followed{leader->epoch, leader->node, leader->notes};
  }
  if (followed == followed_) return 0;
  // Nobody else may answer now. One that has released the lead has answered already.
  const bool is_other = followed && !(last_followed_ && last_followed_->is_same_server(*followed));
  followed_ = std::move(followed);
  if (followed_) last_followed_ = followed_;
  const std::size_t closed = is_other ? relayed_count() : 0;
  for (auto& [name, port] : ports_) {
    if (is_other) port.clients.drop_relayed();
    find_leader(name, port);
  }
  return closed;
}

void Relay::find_leader(const std::string& name, Port& port) {
  port.clients.set_leader(std::nullopt);
  port.lookup.forget();
  port.is_looking_up = false;
  port.next_lookup = {};
  port.has_met_itself = false;
  port.leader.reset();
  if (followed_) port.leader = find_leader_port(followed_->notes, options_.own_ports, name);
  port.is_out_of_reach = followed_ && !port.leader;
  if (!port.leader) return;
  port.lookup.begin(*port.leader);
  port.is_looking_up = true;
  look_up(name, port, {});
}

void Relay::work(Time now) {
  if (followed_) leaderless_since_.reset();
  if (!followed_ && !leaderless_since_) leaderless_since_ = now;
  for (auto& [name, port] : ports_) {
    look_up(name, port, now);
    note_reach(name, port, now);
    const auto since = leaderless_since_ ? leaderless_since_ : port.out_of_reach_since;
    port.clients.work(now, since && now >= *since + kRelayWaitMax);
  }
}

/// The name may lead elsewhere later, and the address to another machine.
void Relay::look_up(const std::string& name, Port& port, Time now) {
  if (std::exchange(port.has_met_itself, false)) {
    port.clients.set_leader(std::nullopt);
    port.is_looking_up = true;
    port.is_out_of_reach = true;
    port.next_lookup = now + kLoopRetry;
    port.lookup.forget();
  }
  if (!port.is_looking_up || port.lookup.state() == NameLookup::State::kAsking) return;
  const bool is_found = port.lookup.state() == NameLookup::State::kFound;
  if (is_found && options_.listening.may_reach(name, port.lookup.name())) {
    port.is_looking_up = false;
    port.is_out_of_reach = false;
    return port.clients.set_leader(port.lookup.name());
  }
  port.is_out_of_reach = true;
  if (now < port.next_lookup) return;
  port.next_lookup = now + kLookupRetry;
  port.lookup.begin(*port.leader);
}

void Relay::note_reach(const std::string& name, Port& port, Time now) {
  if (port.is_out_of_reach == port.out_of_reach_since.has_value()) return;
  port.out_of_reach_since.reset();
  if (port.is_out_of_reach) port.out_of_reach_since = now;
  port.clients.set_refusal(refusal_of(name, port.is_out_of_reach ? kOutOfReach : kNoLeader));
}

std::vector<Listener::Accepted> Relay::give_back(const std::string& port) {
  return port_of(port).clients.give_back();
}

std::size_t Relay::count() const {
  std::size_t count = 0;
  for (const auto& [name, port] : ports_) count += port.clients.count();
  return count;
}

std::size_t Relay::count(const std::string& port) const {
  const auto found = ports_.find(port);
  return found == ports_.end() ? 0 : found->second.clients.count();
}

std::string Relay::leader_address(const std::string& port) {
  const Port& found = port_of(port);
  const bool is_known = found.leader && !found.is_looking_up;
  return is_known ? found.leader->text() : "";
}

std::vector<std::string> Relay::out_of_reach() const {
  std::vector<std::string> shown;
  for (const auto& [name, port] : ports_) {
    if (followed_ && port.is_out_of_reach) shown.push_back(show_port(followed_->notes, name));
  }
  return shown;
}

std::size_t Relay::relayed_count() const {
  std::size_t count = 0;
  for (const auto& [name, port] : ports_) count += port.clients.relayed_count();
  return count;
}

}  // namespace millrace::server
