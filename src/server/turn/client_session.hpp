#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>

#include "core/ports/session.hpp"
#include "server/process/clock.hpp"
#include "server/process/logging.hpp"
#include "server/turn/kept_input.hpp"
#include "server/turn/link.hpp"
#include "server/turn/mailbox.hpp"
#include "server/turn/ticker.hpp"
#include "server/turn/turn.hpp"

namespace millrace::server {

/// When a turn has brought so much output, nothing more is executed before that was offered to the
/// sockets. One reply can exceed it. To make and to send so much takes about a millisecond.
inline constexpr std::size_t kTurnOutputBytesMax = std::size_t{512} << 10;

/// While this much of a client's output was not sent, nothing more is executed or received.
inline constexpr std::size_t kUnsentBytesPause = 256 * 1024;

/// How much input of all clients is executed in a round, about: each has an even share of it, but
/// at least `kServedBytesMin`. So a short command waits for no more than this, and for little of
/// each of many others.
inline constexpr std::size_t kRoundBytes = 256 * 1024;
inline constexpr std::size_t kServedBytesMin = 4 * 1024;

/// How long a connection that we close waits for the client to close too, so that what the client
/// still sends does not make the system throw away our last reply.
inline constexpr Duration kLingerMax = 1s;

/// The output of all clients that was not sent yet. Only `ClientSession` counts it.
struct UnsentOutput {
  std::size_t bytes = 0;
  std::size_t turn_bytes = 0;  ///< so much was added since the turn began
};

class ClientSession;

/// Clients that have something to execute, each kind in turn; null: it was closed meanwhile. Those
/// that have all their answers go first, since otherwise whoever asks once would wait for all that
/// send without reading.
struct ReadyClients {
  std::deque<ClientSession*> answered;
  std::deque<ClientSession*> others;

  [[nodiscard]] bool is_empty() const { return answered.empty() && others.empty(); }
};

/// The session half of a client's connection, with the broker: executes what arrives, and orders
/// its socket half to send the output at the end of each turn, or earlier (`Turn::answer_early`).
/// Knows the time and the limits, and no socket.
class ClientSession : public Responder, public Deadline, private InputKeeper {
 public:
  /// What all sessions use. It outlives them.
  struct Parts {
    Turn& turn;
    Ticker& ticker;
    Clock& clock;
    const Log& log;
    KeptInput& kept;
    /// A reply that hands out a job waits for everything that was recorded before it, as all others
    /// do, and so for the reservation.
    bool is_fetch_strict = false;
    UnsentOutput unsent = {};
    ReadyClients ready = {};
  };

  /// `orders` are for the thread of `socket`.
  ClientSession(std::unique_ptr<Session> session, ClientSocket& socket, Batch<Order>& orders,
                Parts& parts);
  ~ClientSession() override;

  /// The client is connected. Called once, first.
  void start();

  /// What its socket says, but for input: that waits for `serve`.
  void take(const Arrival& arrival);

  /// Executes what there is, but no more than so many bytes of its input. Called when it is the
  /// first of those that are ready.
  void serve(std::size_t bytes_max);

  /// The server stops: takes no further input, and ends the connection when everything is answered.
  void stop();

  /// Ends the connection at once.
  void drop() override;

  /// Its socket is gone, and can be forgotten: the last call.
  void forget_socket() { order(Order::Then::kForget); }

  /// How much output was not sent yet.
  [[nodiscard]] std::size_t unsent_bytes() const { return unsent_bytes_ + unrendered_bytes_; }

  /// The client has not taken all of its output, and none since.
  [[nodiscard]] std::optional<Time> stalled_since() const {
    return is_closing_ ? std::nullopt : stalled_since_;
  }

  std::optional<Lsn> bind(Lsn lsn) override;
  void expire(Time now) override;

 private:
  /// What was ordered last of how the connection goes on.
  enum class Input { kAwaited, kArrived, kHeld, kOver };

  template <typename Call>
  void call_session(Call call);
  [[nodiscard]] bool execute_input(std::size_t bytes_max);
  void end_input();
  void sent(std::size_t bytes);
  void close(bool is_broken);
  void get_ready(std::deque<ClientSession*>& queue);
  [[nodiscard]] Order::Then settle();
  [[nodiscard]] Order::Then next_input();
  [[nodiscard]] bool has_more() const;
  void order(Order::Then then);
  void count_kept();
  void count_unsent();
  void end_session_input();
  [[nodiscard]] bool wants_input() const override;
  void ask_again() override;
  [[nodiscard]] bool takes_output() const { return given_bytes_ - sent_bytes_ < kUnsentBytesPause; }
  /// It is stopped, and its session does not know yet that no more input comes.
  [[nodiscard]] bool must_end_session_input() const;
  [[nodiscard]] bool is_all_answered() const;

  std::unique_ptr<Session> session_;  ///< null once it was closed
  ClientSocket& socket_;
  Batch<Order>& orders_;
  Parts& parts_;
  std::string_view arrived_;  ///< of the input at hand, what was not executed yet
  Input input_ = Input::kAwaited;
  std::uint64_t sent_bytes_ = 0;      ///< of the output since the session began
  std::uint64_t given_bytes_ = 0;     ///< the same, of what the socket was ordered to send
  std::size_t unsent_bytes_ = 0;      ///< as counted in `Parts::unsent`
  std::size_t unrendered_bytes_ = 0;  ///< the same for what is rendered later
  std::optional<Time> stalled_since_;
  Lsn bound_ = 0;             ///< what the output that was given last waits for
  bool is_ready_ = false;     ///< it is among `Parts::ready`
  bool is_due_ = false;       ///< its session's `wake_at` has come
  bool is_end_next_ = false;  ///< after `arrived_`
  bool is_input_over_ = false;
  bool is_stopping_ = false;
  bool has_ended_session_input_ = false;
  bool is_closing_ = false;  ///< it was ordered, and nothing more is executed
};

}  // namespace millrace::server
