#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "server/net/connection_state.hpp"
#include "server/net/outbox.hpp"
#include "server/net/poller.hpp"
#include "server/net/stream.hpp"
#include "server/process/clock.hpp"
#include "server/process/logging.hpp"
#include "server/turn/link.hpp"
#include "server/turn/ticker.hpp"

namespace millrace::server {

/// While this much waits to be sent, nothing more is executed or received.
inline constexpr std::size_t kOutboxBytesMax = 256 * 1024;

/// How long a connection that we close waits for the client to close too, so that what the client
/// still sends does not make the system throw away our last reply.
inline constexpr Duration kLingerMax = 1s;

/// The socket half of a client's connection: hands on what arrives, and sends output once it is
/// durable. While nothing happens it holds no buffer.
class ClientSocket final : public SocketHalf,
                           public Pollee,
                           public Deadline,
                           private Stream::Owner {
 public:
  /// What all sockets of clients use. It outlives them.
  struct Parts {
    Poller& poller;
    Ticker& ticker;
    Clock& clock;
    const Log& log;
    ReceiveBuffer buffer = {};
  };

  /// `tls`: null on a port without encryption.
  ClientSocket(int descriptor, std::unique_ptr<TlsStream> tls, Parts& parts);
  /// Only before `open` and after `SessionHalf::close`.
  ~ClientSocket() override;

  /// Serves `session`, until that is told `close`. Then `on_closed` is called, once: it must not
  /// destroy the connection, which may still be at work.
  void open(SessionHalf& session, std::function<void()> on_closed);

  /// The client has not taken all that was offered to it, and nothing since.
  [[nodiscard]] std::optional<Time> stalled_since() const { return stalled_since_; }

  [[nodiscard]] int descriptor() const { return stream_.descriptor(); }

  [[nodiscard]] bool takes_output() const override { return outbox_.size() < kOutboxBytesMax; }
  void give(std::string& bytes, Lsn lsn) override;
  bool send_durable(Lsn durable) override;
  void read_on() override;
  void finish() override;
  void drop() override;

  void on_ready() override;
  void on_wait() override;
  [[nodiscard]] bool on_served_again() override;
  void expire(Time now) override;

 private:
  enum class Served {
    kNow,
    kEndIsNext,  ///< nothing is left but the end of what the client sends
    kNotYet      ///< it waits for the next turn
  };

  void on_input() override;
  void on_room() override;
  [[nodiscard]] bool is_serving() const;
  [[nodiscard]] bool may_receive();
  void hold();
  [[nodiscard]] Served serve_input();
  [[nodiscard]] Served receive(std::size_t share);
  void hand_on(const Stream::Received& received);
  void send_covered(Lsn durable);
  void move(ConnectionEvent event);
  void linger();
  void lose();
  void close(ConnectionEvent event);

  Stream stream_;
  Parts& parts_;
  SessionHalf* session_ = nullptr;
  std::function<void()> on_closed_;
  ConnectionState state_ = ConnectionState::kOpen;
  bool is_broken_ = false;  ///< and not by us
  bool has_input_ = false;  ///< as far as the stream has told
  bool has_room_ = false;   ///< the stream has told so, and the session was not told
  Outbox outbox_;
  std::optional<Time> stalled_since_;
};

}  // namespace millrace::server
