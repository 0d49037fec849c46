#pragma once

#include <memory>
#include <vector>

#include "core/broker/broker.hpp"
#include "faktory/job/work_unit.hpp"
#include "server/net/listener.hpp"
#include "server/net/poller.hpp"
#include "server/process/clock.hpp"
#include "server/process/logging.hpp"
#include "server/relay/relay.hpp"
#include "server/relay/web_front.hpp"
#include "server/turn/ticker.hpp"

namespace millrace::server {

/// The ports of a process that has not reached the shared log yet, so that there is no server.
/// Clients wait, and are refused, as at a standby that knows no leader (`relay/relay.hpp`). The web
/// port says that it is so.
class WaitingConnections {
 public:
  /// All outlive it.
  struct Parts {
    Clock& clock;
    const Log& log;
    Relay::Options relay;
    std::size_t clients_max = 0;
    std::size_t web_connections_max = 0;
  };

  explicit WaitingConnections(Parts parts);
  WaitingConnections(const WaitingConnections&) = delete;
  WaitingConnections& operator=(const WaitingConnections&) = delete;

  /// Lets the clients of a job port in.
  [[nodiscard]] Outcome<Done> open(const char* port, BoundSocket socket);
  /// Those of the web port, where they do not speak TLS.
  [[nodiscard]] Outcome<Done> open_web(BoundSocket socket);

  [[nodiscard]] bool is_open() const { return !listeners_.empty(); }

  /// Serves who is there, for at most that time. `poller` can be woken.
  void work(Duration longest);

  [[nodiscard]] Poller& poller() { return poller_; }

 private:
  [[nodiscard]] Outcome<Done> listen(BoundSocket socket, std::function<bool()> has_room,
                                     Listener::Accept accept);

  const Parts parts_;
  // Listeners plan their pauses with a ticker, and that works for a broker. It stays empty.
  faktory::WorkUnits format_;
  Ledger ledger_;
  Broker broker_;
  Ticker ticker_;
  Poller poller_;
  Relay relay_;
  WebFront web_front_;
  std::vector<std::unique_ptr<Listener>> listeners_;
};

}  // namespace millrace::server
