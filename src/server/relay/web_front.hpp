#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "server/net/listener.hpp"
#include "server/process/clock.hpp"

namespace millrace::server {

/// Looks at the first request of each client of the web port of a server that does not lead: some
/// are about this very server. Nothing is taken from the socket of a client that is passed on.
class WebFront {
 public:
  struct Parts {
    Poller& poller;
    /// The answer to a request for this path, without its query; nullopt: it is not for us.
    std::function<std::optional<std::string>(std::string_view method, std::string_view path)>
        answer;
    /// Takes a client over whose request is not for us.
    std::function<void(Listener::Accepted accepted)> pass_on;
  };

  explicit WebFront(Parts parts) : parts_(std::move(parts)) {}
  WebFront(const WebFront&) = delete;
  WebFront& operator=(const WebFront&) = delete;

  void add(Listener::Accepted accepted, Time now);

  /// Closes clients that have sent no request for `kWebFrontMax`. To be called every some
  /// milliseconds, outside of the poller's `take`.
  void work(Time now);

  [[nodiscard]] std::size_t count() const { return clients_.size(); }

 private:
  struct Client final : public Pollee {
    Client(WebFront& of, Listener::Accepted from, Time end)
        : front(of), accepted(std::move(from)), until(end) {}
    ~Client() override { close(); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    void on_events(SocketEvents events) override { front.look(*this, events.is_over); }
    int release();
    void close();

    WebFront& front;
    Listener::Accepted accepted;
    Time until;
    std::list<Client>::iterator place = {};
  };

  void look(Client& client, bool is_over);
  void answer(Client& client, std::string_view seen, const std::string& text);
  void retire(Client& client);

  const Parts parts_;
  std::list<Client> clients_;  ///< in the order in which they came
  std::list<Client> over_;     ///< destroyed by the next `work`
};

/// How long the head of a request may take to arrive, and how much of it is looked at.
inline constexpr Duration kWebFrontMax = std::chrono::seconds(5);
inline constexpr std::size_t kScreenedBytesMax = 16 * 1024;

}  // namespace millrace::server
