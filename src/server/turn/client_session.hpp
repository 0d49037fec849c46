#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/ports/session.hpp"
#include "server/process/clock.hpp"
#include "server/process/logging.hpp"
#include "server/turn/kept_input.hpp"
#include "server/turn/link.hpp"
#include "server/turn/responder.hpp"
#include "server/turn/ticker.hpp"
#include "server/turn/turn.hpp"
#include "server/turn/turn_budget.hpp"

namespace millrace::server {

/// When a turn has brought so much output, nothing more is executed before that was offered to the
/// sockets. One reply can exceed it. To make and to send a megabyte takes one to two milliseconds.
inline constexpr std::size_t kTurnOutputBytesMax = std::size_t{1} << 20;

/// When a turn has sent so much, output of a client with more than `kShortOutputBytes` of it waits
/// for the next turn. A send can exceed it. So a short reply never waits for long ones.
inline constexpr std::size_t kTurnSentBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kShortOutputBytes = 4 * 1024;

/// A client that last sent less than this, and got a short reply, is brief: it is served in every
/// turn, whatever others do. One that has not sent anything yet is not.
inline constexpr std::size_t kBriefInputBytes = 1024;

/// The output of all clients that was not sent yet. Only `ClientSession` counts it.
struct UnsentOutput {
  std::size_t bytes = 0;
  std::size_t turn_bytes = 0;       ///< so much was added since the turn began
  std::size_t turn_sent_bytes = 0;  ///< and so much was sent
  std::string spare = {};           ///< an empty buffer that is handed round
};

/// The session half of a client's connection: has the session execute what arrives, and hands its
/// output to the socket half at the end of each turn, or earlier (`Turn::answer_early`). Knows the
/// time and the limits, and no socket.
class ClientSession final : public SessionHalf,
                            public Responder,
                            public Deadline,
                            private InputKeeper {
 public:
  /// What all sessions use. It outlives them.
  struct Parts {
    Turn& turn;
    Ticker& ticker;
    Clock& clock;
    const Log& log;
    KeptInput& kept;
    TurnBudget input_share;   ///< of those that send much
    TurnBudget resume_share;  ///< of those that have more to execute
    /// A reply that hands out a job waits for everything that was recorded before it, as all others
    /// do, and so for the reservation.
    bool is_fetch_strict = false;
    UnsentOutput unsent = {};
  };

  ClientSession(std::unique_ptr<Session> session, SocketHalf& socket, Parts& parts);
  /// Drops the connection if it is still there.
  ~ClientSession() override;
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  /// The server stops: takes no further input, and ends the connection when everything is answered.
  void stop();

  /// How much output was not sent yet.
  [[nodiscard]] std::size_t unsent_bytes() const { return unsent_bytes_ + unrendered_bytes_; }

  [[nodiscard]] std::size_t input_share() override;
  [[nodiscard]] bool is_brief() const override;
  [[nodiscard]] bool offer_input() override;
  void start() override;
  void receive(std::string_view bytes) override;
  void end_input() override;
  void sent(std::size_t bytes) override;
  void has_room() override;
  void close(bool is_broken) noexcept override;

  void resume(Time now) override;
  std::optional<Lsn> bind(Lsn lsn, Lsn durable) override;
  void send_durable(Lsn durable) override;

  void expire(Time now) override;

 private:
  template <typename Call>
  void call_session(Call call);
  void settle();
  void count_unsent();
  void end_session_input();
  [[nodiscard]] bool wants_input() const override;
  void ask_again() override;
  void drop() override;
  void finish_session();
  /// It is stopped, and its session does not know yet that no more input comes.
  [[nodiscard]] bool must_end_session_input() const;
  [[nodiscard]] bool is_all_answered() const;
  [[nodiscard]] bool is_over(TurnBudget& share) const;
  [[nodiscard]] bool waits_for_next_turn() const;

  std::unique_ptr<Session> session_;  ///< null once it was closed
  SocketHalf& socket_;
  Parts& parts_;
  std::uint64_t sent_bytes_ = 0;      ///< of the output since the session began
  std::size_t unsent_bytes_ = 0;      ///< as counted in `Parts::unsent`
  std::size_t unrendered_bytes_ = 0;  ///< the same for what is rendered later
  bool is_brief_ = false;             ///< see `kBriefInputBytes`
  bool is_turned_away_ = false;       ///< the turn is long enough without this client
  Lsn bound_ = 0;                     ///< what the output that was given last waits for
  bool is_input_over_ = false;
  bool is_stopping_ = false;
  bool has_ended_session_input_ = false;
};

}  // namespace millrace::server
