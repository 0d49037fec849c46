#include "server/waiting_connections.hpp"

#include <utility>

#include "http/kit/leadership.hpp"

namespace millrace::server {
namespace {

std::string answer(std::string_view path) {
  const http::Response response = http::answer_without_log(path);
  return "HTTP/1.1 503 Service Unavailable\r\nContent-Type: " + response.type +
         "\r\nContent-Length: " + std::to_string(response.body.size()) +
         "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n" + response.body;
}

}  // namespace

WaitingConnections::WaitingConnections(Parts parts)
    : parts_(std::move(parts)),
      broker_(ledger_, format_, {}),
      ticker_(broker_),
      relay_(poller_, parts_.relay),
      web_front_({.poller = poller_,
                  .answer = [](std::string_view, std::string_view path) { return answer(path); },
                  .pass_on = [](const Listener::Accepted&) {}}) {}

Outcome<Done> WaitingConnections::open(const char* port, BoundSocket socket) {
  const auto has_room = [this] { return relay_.count() < parts_.clients_max; };
  return listen(std::move(socket), has_room, [this, port](Listener::Accepted accepted) {
    relay_.add(port, std::move(accepted), parts_.clock.now());
  });
}

Outcome<Done> WaitingConnections::open_web(BoundSocket socket) {
  if (parts_.relay.is_encrypted && socket.family() != AF_UNIX) return Done{};
  const auto has_room = [this] { return web_front_.count() < parts_.web_connections_max; };
  return listen(std::move(socket), has_room, [this](Listener::Accepted accepted) {
    web_front_.add(std::move(accepted), parts_.clock.now());
  });
}

Outcome<Done> WaitingConnections::listen(BoundSocket socket, std::function<bool()> has_room,
                                         Listener::Accept accept) {
  listeners_.push_back(std::make_unique<Listener>(
      std::move(socket), Listener::Parts{.poller = poller_,
                                         .ticker = ticker_,
                                         .clock = parts_.clock,
                                         .log = parts_.log,
                                         .has_room = std::move(has_room)}));
  return listeners_.back()->listen(std::move(accept));
}

void WaitingConnections::work(Duration longest) {
  poller_.take(longest);
  const Time now = parts_.clock.now();
  ticker_.work(now, Ticker::Scope::kDeadlines);
  relay_.work(now);
  web_front_.work(now);
}

}  // namespace millrace::server
