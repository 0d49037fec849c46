#include "server/relay/relay.hpp"

#include <utility>

#include "server/relay/leader_address.hpp"

namespace millrace::server {
namespace {

constexpr const char* kNoLeader = "no server leads the shared log at present, try again later";

Refusal refusal_of(std::string_view port) {
  if (port == "beanstalk") return {.text = "DRAINING\r\n"};
  if (port == "faktory") {
    return {.text = "-ERR " + std::string(kNoLeader) + "\r\n", .is_greeting = true};
  }
  const std::string body = std::string(kNoLeader) + "\n";
  return {.text =
              "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\n"
              "Content-Length: " +
              std::to_string(body.size()) +
              "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n" + body};
}

}  // namespace

void Relay::add(const std::string& port, Listener::Accepted accepted, Time now) {
  accepted.is_encrypted = options_.is_encrypted && !accepted.is_unix;
  port_of(port).clients.add(std::move(accepted), now);
}

Relay::Port& Relay::port_of(const std::string& name) {
  const auto found = ports_.find(name);
  if (found != ports_.end()) return found->second;
  Port& port = ports_.try_emplace(name, poller_, room_, refusal_of(name)).first->second;
  find_leader(name, port);
  return port;
}

std::size_t Relay::follow(const std::optional<SharedJournal::Leader>& leader) {
  std::optional<Followed> followed;
  if (leader && !leader->has_released && leader->node != options_.node) {
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
  port.leader = followed_ ? find_port(followed_->notes, name) : std::nullopt;
  if (port.leader == find_port(options_.own_ports, name)) port.leader.reset();
  if (!port.leader) return;
  port.lookup.begin(*port.leader);
  port.is_looking_up = port.lookup.state() != NameLookup::State::kFound;
  if (!port.is_looking_up) port.clients.set_leader(port.lookup.name());
}

void Relay::work(Time now) {
  if (followed_) leaderless_since_.reset();
  if (!followed_ && !leaderless_since_) leaderless_since_ = now;
  const bool is_hopeless = leaderless_since_ && now >= *leaderless_since_ + kRelayWaitMax;
  for (auto& [name, port] : ports_) {
    look_up(port, now);
    port.clients.work(now, is_hopeless);
  }
}

void Relay::look_up(Port& port, Time now) {
  if (port.is_looking_up && port.lookup.state() == NameLookup::State::kFound) {
    port.is_looking_up = false;
    port.clients.set_leader(port.lookup.name());
  } else if (port.is_looking_up && port.lookup.state() == NameLookup::State::kNotFound &&
             now >= port.next_lookup) {
    port.next_lookup = now + kLookupRetry;
    port.lookup.begin(*port.leader);
  }
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
  const std::optional<Address>& leader = port_of(port).leader;
  return leader ? leader->text() : "";
}

std::size_t Relay::relayed_count() const {
  std::size_t count = 0;
  for (const auto& [name, port] : ports_) count += port.clients.relayed_count();
  return count;
}

}  // namespace millrace::server
