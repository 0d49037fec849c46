#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
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
  ~WebFront();
  WebFront(const WebFront&) = delete;
  WebFront& operator=(const WebFront&) = delete;

  void add(Listener::Accepted accepted, Time now);

  /// Closes clients that have sent no request for `kWebFrontMax`. To be called every few
  /// milliseconds, outside of the poller's `take`.
  void work(Time now);

  [[nodiscard]] std::size_t count() const { return clients_.size(); }

 private:
  struct Client;
  // Shared with its handler, which may run after its end.
  using Clients = std::list<std::shared_ptr<Client>>;

  void look(Client& client);
  void answer(Client& client, std::string_view seen, const std::string& text);
  void retire(Client& client);

  const Parts parts_;
  Clients clients_;  ///< in the order in which they came
};

/// How long the head of a request may take to arrive, and how much of it is looked at.
inline constexpr Duration kWebFrontMax = std::chrono::seconds(5);
inline constexpr std::size_t kScreenedBytesMax = 16 * 1024;

}  // namespace millrace::server
