#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/ports/session.hpp"
#include "server/net/outbox.hpp"
#include "server/net/poller.hpp"
#include "server/net/tls.hpp"
#include "server/process/clock.hpp"
#include "server/process/logging.hpp"
#include "server/turn/commit_queue.hpp"
#include "server/turn/ticker.hpp"

namespace millrace::server {

/// What all connections use. It outlives them.
struct Surroundings {
  Poller& poller;
  CommitQueue& commits;
  Ticker& ticker;
  Clock& clock;
  const Log& log;
  std::vector<char> receive_buffer;  ///< one for all: what arrives is passed on at once

  std::size_t unsent_bytes = 0;       ///< of output, in all connections and sessions
  std::size_t turn_output_bytes = 0;  ///< so much of it came since the last turn
};

/// How much is received at a time, and so how much one connection does before others get their
/// turn.
inline constexpr std::size_t kReceiveBytes = 32 * 1024;

/// While this much waits to be sent, nothing more is executed or received.
inline constexpr std::size_t kOutboxBytesMax = 256 * 1024;

/// When all output that waits to be sent takes more than this, clients that do not read are left:
/// see `Server::drop_slow_readers`.
inline constexpr std::size_t kUnsentBytesMax = std::size_t{256} << 20;

/// When a turn has brought so much output, nothing more is executed before that was offered to the
/// sockets. One reply can take it beyond.
inline constexpr std::size_t kTurnOutputBytesMax = std::size_t{32} << 20;

/// How long a connection that we close waits for the client to close too, so that what the client
/// still sends does not make the system throw away our last reply.
inline constexpr Duration kLingerMax = 1s;

/// One client's socket and its session: passes on what arrives, and sends what the commit queue
/// lets go. While nothing happens it holds no buffer.
class Connection final : public Participant, public Deadline, public Pollee {
 public:
  /// `descriptor` is the socket's and becomes ours. `tls`: null on a port without encryption.
  Connection(int descriptor, std::unique_ptr<Session> session, Surroundings& surroundings,
             std::unique_ptr<TlsStream> tls = nullptr);
  ~Connection() override;

  /// Serves the client from now on. `on_closed` is called once, when the connection was closed, by
  /// whichever call closed it: it must not destroy the connection before that call has returned.
  void start(std::function<void()> on_closed);

  /// The server stops: takes no further input, and closes when everything is answered.
  void finish();

  /// Has nothing to do with the client any more. The socket is closed with the connection's end,
  /// which takes the system as long as all that came before it: that can wait for a moment.
  void drop();

  /// The client has not taken all that was offered to it, and nothing since `stalled_since`.
  [[nodiscard]] bool is_stalled() const { return phase_ == Phase::kServing && has_stalled_; }
  [[nodiscard]] Time stalled_since() const { return stalled_since_; }
  [[nodiscard]] std::size_t unsent_bytes() const { return unsent_bytes_; }

  void on_events(SocketEvents events) override;
  void on_turn() override;
  void resume(Time now) override;
  bool commit(Lsn lsn, Lsn durable) override;
  void send(Lsn durable) override;
  void expire(Time now) override;

 private:
  enum class Phase {
    kServing,
    kLingering,  ///< everything is sent and our side is closed; what still arrives is thrown away
    kClosed,
  };

  void read_on();
  void read_once();
  void take_arrived(std::string_view bytes);
  void take_encrypted(std::string_view arrived);
  void take_input(std::string_view bytes);
  void send_covered(Lsn durable);
  void encrypt_covered(Lsn durable);
  void send_encrypted();
  [[nodiscard]] std::size_t send_now(std::string_view bytes);
  void count_unsent();
  void settle();
  void close_gently();
  void leave(Time now) noexcept;
  template <typename Call>
  void call_session(Call call);
  [[nodiscard]] bool may_read() const;
  [[nodiscard]] bool is_turn_full() const;
  [[nodiscard]] bool is_all_sent() const;

  int descriptor_;                    ///< of the socket
  std::unique_ptr<Session> session_;  ///< null once it was closed
  Surroundings& surroundings_;
  std::unique_ptr<TlsStream> tls_;
  std::function<void()> on_closed_;
  std::size_t encrypted_bytes_ = 0;  ///< of output, that `tls_` has still to send
  Outbox outbox_;
  std::size_t unsent_bytes_ = 0;  ///< of outbox and session, as counted in `surroundings_`
  bool has_stalled_ = false;      ///< the system did not take all of what was last offered
  Time stalled_since_{};
  Lsn durable_ = 0;  ///< the greatest that `commit` and `send` were told
  Phase phase_ = Phase::kServing;
  bool is_readable_ = false;          ///< there may be something that was not received yet
  bool is_hung_up_ = false;           ///< behind it nothing more will come
  bool is_broken_ = false;            ///< nothing can be sent any more
  bool is_input_over_ = false;        ///< all that the client sent was received
  bool is_finishing_ = false;         ///< the server stops
  bool is_waiting_to_write_ = false;  ///< the socket is full, we are told when there is room
};

}  // namespace millrace::server
