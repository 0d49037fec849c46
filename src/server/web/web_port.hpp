#pragma once

#include <array>
#include <asio/basic_socket_acceptor.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/thread_pool.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "faktory/session/login_guard.hpp"
#include "server/net/bound_socket.hpp"
#include "server/net/tls.hpp"
#include "server/web/web_connection.hpp"

namespace millrace::server {

/// What the bodies of all requests may take together, from their arrival to their answer: two of
/// the longest, unless `--max-job-size` is more.
inline constexpr std::size_t kWebBodiesMax = std::size_t{64} << 20;

/// What is longer is worked off in a thread for that.
inline constexpr std::size_t kWebLongBytes = 256 * 1024;

/// The web port with its connections, in one thread. Nothing waits there: the broker answers in its
/// own thread, and what takes long is worked off in another one, while only its client waits.
class WebPort {
 public:
  struct Parts {
    WebAnswers& answers;              ///< outlives the port
    std::size_t connections_max = 0;  ///< at most kWebConnectionsMax
    /// Shared with the owner of the certificate, who may exchange it; null: no encryption. Unix
    /// sockets are never encrypted.
    std::shared_ptr<const TlsContext> tls;
  };

  WebPort(BoundSocket socket, Parts parts);
  /// `join` must have been called, if `listen` was.
  ~WebPort();
  WebPort(const WebPort&) = delete;
  WebPort& operator=(const WebPort&) = delete;

  [[nodiscard]] Outcome<Done> listen();

  /// Sets the certificate for new connections.
  void set_tls(/* shared as in Parts */ std::shared_ptr<const TlsContext> tls);

  /// Accepts no more connections. Requests that are being answered are completed. Does not wait.
  void close();

  /// Waits until the last connection has ended. After `close`.
  void join();

  [[nodiscard]] const Address& address() const { return bound_.address(); }
  [[nodiscard]] int descriptor() const { return bound_.descriptor(); }
  /// See `BoundSocket::duplicate`.
  [[nodiscard]] Outcome<BoundSocket> duplicate_socket() const { return bound_.duplicate(); }

  /// Calls `call` in the port's thread, soon. May be called from any thread.
  void post(std::function<void()> call);

  // In the port's thread, for its connections and for what answers them.

  [[nodiscard]] asio::io_context& context() { return context_; }

  /// Calls `work`, which uses data of its own only: in a thread for that, if it is long. Then calls
  /// `then` in the port's thread. `is_good`: `work` threw no exception.
  void work_off(bool is_long, std::function<void()> work, std::function<void(bool is_good)> then);

  [[nodiscard]] WebAnswers& answers() { return parts_.answers; }
  [[nodiscard]] faktory::LoginGuard& logins() { return logins_; }
  [[nodiscard]] bool is_closing() const { return is_closing_; }
  using ReceiveBuffer = std::array<char, 64 * 1024>;
  [[nodiscard]] ReceiveBuffer& receive_buffer() { return receive_buffer_; }

  /// How much room a body takes, to be given back. nullopt: there is none now. A short body takes
  /// none, and one alone always has room.
  [[nodiscard]] std::optional<std::size_t> take_body_room(std::size_t bytes);
  void give_body_room(std::size_t bytes) { bodies_bytes_ -= bytes; }

  void remove(const WebConnection& connection);

 private:
  /// Shared with the calls that are to come.
  using Connections = std::vector<std::shared_ptr<WebConnection>>;

  void run();
  void wait_for_client();
  void accept();
  [[nodiscard]] bool accept_one();
  [[nodiscard]] WebConnection* find_replaceable();
  void pause();
  void end();

  BoundSocket bound_;
  Parts parts_;
  asio::io_context context_{1};
  asio::basic_socket_acceptor<asio::generic::stream_protocol> acceptor_{context_};
  asio::steady_timer pause_{context_};
  faktory::LoginGuard logins_;
  std::size_t bodies_bytes_ = 0;
  bool is_closing_ = false;
  ReceiveBuffer receive_buffer_{};
  Connections connections_;
  asio::thread_pool worker_{1};
  std::thread thread_;
};

}  // namespace millrace::server
