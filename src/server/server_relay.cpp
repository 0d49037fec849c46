
#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "server/server.hpp"
#include "server/web/web_service.hpp"

/// The clients of a server while another one leads the log.
namespace millrace::server {

/// A relayed client takes two descriptors.
bool Server::has_room() const {
  const std::size_t relayed = relay_ ? 2 * relay_->count() + 1 : 0;
  return connections_.count() + relayed < options_.clients_max;
}

void Server::let_in(const Gate& gate, Listener::Accepted accepted) {
  if (!relay_) return admit(gate, std::move(accepted));
  relay_->add(gate.name, std::move(accepted), clock_.now());
}

Relay::Options Server::relay_options() const {
  return {.node = options_.config.node,
          .own_ports = options_.own_ports,
          .is_encrypted = options_.secrets.tls != nullptr,
          .listening = listening_};
}

Outcome<Done> Server::open_relay() {
  relay_.emplace(poller_, relay_options());
  for (const Gate& gate : gates_) relay_->open(gate.name);
  if (web_) relay_->open("web");
  if (auto listening = listen_at_gates(); !listening) return listening;
  return open_web_relay();
}

/// Of an encrypted connection nothing can be seen without answering it.
bool Server::redirects_web() const {
  return options_.secrets.tls && !web_->address().is_unix();
}

/// The web port goes on with the same socket when this server leads, so nobody is refused then.
Outcome<Done> Server::open_web_relay() {
  if (!web_) return Done{};
  if (redirects_web()) return web_->stand_by({.facts = leadership(), .leader = {}});
  auto socket = web_->duplicate_socket();
  if (!socket) return socket.error();
  web_front_.emplace(
      WebFront::Parts{.poller = poller_,
                      .answer = [this](std::string_view method,
                                       std::string_view path) { return answer_web(method, path); },
                      .pass_on =
                          [this](Listener::Accepted accepted) {
                            relay_->add("web", std::move(accepted), clock_.now());
                          }});
  const Listener::Parts parts{
      .poller = poller_, .ticker = loop_.ticker, .clock = clock_, .log = log_, .has_room = [this] {
        return 2 * (web_front_->count() + relay_->count("web")) < options_.web_connections_max;
      }};
  web_listener_ = std::make_unique<Listener>(std::move(*socket), parts);
  return web_listener_->listen(
      [this](Listener::Accepted accepted) { web_front_->add(std::move(accepted), clock_.now()); });
}

/// Those that waited for a leader have found one, those of the web port excepted, which ask again.
/// Those that had reached the last leader are cut off: it answers nothing more.
void Server::close_relay() {
  for (const Gate& gate : gates_) {
    for (Listener::Accepted& each : relay_->give_back(gate.name)) admit(gate, std::move(each));
  }
  web_listener_.reset();
  web_front_.reset();
  relay_.reset();
}

// ---- a server that leads, and cannot reach the log ----------------------------------------------

void Server::look_at_lease(bool is_lost, Time now) {
  if (is_stopping()) return;
  if (is_lost && !relay_) lose_touch();
  if (!is_lost && relay_) {
    log_.routine("in_touch", {{"waiting_connections", relay_->count()}});
    close_relay();
  }
  if (relay_) relay_->work(now);
}

/// Another server may lead by now, and the clients of this one are to find it. They learn nothing
/// of what they wait for: that may still be stored. New ones wait here, as at a standby, and
/// nothing is executed for them.
void Server::lose_touch() {
  const std::string problem = shared_->problem();
  log_.event("out_of_touch",
             {{"connections", connections_.count()},
              {"problem", problem.empty() ? "no answer" : one_line(problem, kProblemBytesMax)}});
  connections_.drop_all();
  relay_.emplace(poller_, relay_options());
}

// ---- what is shown ------------------------------------------------------------------------------

std::optional<std::string> Server::answer_web(std::string_view method,
                                              std::string_view path) const {
  const bool is_report = method == "POST" && path == http::kReportPath;
  if (!is_report && method != "GET" && method != "HEAD") return std::nullopt;
  const auto response = http::answer_on_standby(leadership(), path);
  if (!response) return std::nullopt;
  return "HTTP/1.1 " + std::to_string(response->status) +
         (response->status == 200 ? " OK" : " Service Unavailable") +
         "\r\nContent-Type: " + response->type +
         "\r\nContent-Length: " + std::to_string(response->body.size()) +
         "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n" +
         (method == "HEAD" ? "" : response->body);
}

void Server::relay(Time now, const std::optional<SharedJournal::Leader>& leader) {
  if (!relay_) return;
  if (const std::size_t closed = relay_->follow(leader); closed > 0) {
    log_.routine("relayed_clients_closed", {{"connections", closed}, {"leader", leader->node}});
  }
  relay_->work(now);
  if (web_front_) web_front_->work(now);
  if (!web_ || !redirects_web()) return;
  // It listens already, so there is no problem to be told.
  (void)web_->stand_by({.facts = leadership(), .leader = relay_->leader_address("web")});
}

}  // namespace millrace::server
