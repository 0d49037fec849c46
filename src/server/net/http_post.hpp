#pragma once

#include <array>
#include <asio/generic/stream_protocol.hpp>
#include <asio/ssl/stream.hpp>
#include <asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "core/model/types.hpp"
#include "server/net/peer.hpp"
#include "server/net/tls.hpp"

namespace millrace::server {

/// A request on its way, which ends with the status of its answer: more is not read, and redirects
/// are not followed. Held by its handlers, too, which may run after its end.
class HttpPost : public std::enable_shared_from_this<HttpPost> {
 public:
  struct Options {
    std::string host;  ///< as its certificate must name it
    /// Shared by requests; null: plain. One that may be used for `open_to`.
    std::shared_ptr<const TlsContext> tls;
    std::string request;  ///< as it is sent
    Duration time_max{};  ///< to connect, to send and to be answered
  };

  HttpPost(asio::io_context& context, Options options);

  void begin(const SocketName& to);
  void end();

  [[nodiscard]] bool is_over() const { return is_over_; }
  /// 0: there was no answer.
  [[nodiscard]] int status() const { return status_; }
  /// Why there was none.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Why the server that was reached is not trusted; empty: it is, or there was no handshake.
  [[nodiscard]] const std::string& distrust() const { return distrust_; }

 private:
  using Socket = asio::generic::stream_protocol::socket;

  /// A handler, which goes on with `next`.
  template <typename Next>
  auto step(const char* what, Next next);
  void fail(std::string problem);
  void shake_hands();
  template <typename Stream>
  void send(Stream& stream);
  void read_status();

  const Options options_;
  Socket socket_;
  asio::steady_timer timer_;
  std::optional<asio::ssl::stream<Socket&>> stream_;
  std::array<char, 256> answer_{};
  int status_ = 0;
  std::string problem_;
  std::string distrust_;
  bool is_over_ = false;
};

}  // namespace millrace::server
