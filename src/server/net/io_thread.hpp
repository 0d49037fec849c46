#pragma once

#include <absl/container/flat_hash_map.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "server/net/client_socket.hpp"
#include "server/net/stream.hpp"
#include "server/process/logging.hpp"
#include "server/turn/link.hpp"
#include "server/turn/mailbox.hpp"

namespace asio {
class io_context;
}

namespace millrace::server {

/// When a thread has sent so much in a round, output of a client with more than `kShortOutputBytes`
/// of it waits for the next one. A send can exceed it. So a short reply never waits for long ones.
inline constexpr std::size_t kRoundSentBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kShortOutputBytes = 4 * 1024;

/// The sockets of clients that belong to a thread, and the two queues between them and their
/// sessions. A round is: `exchange`, `before_wait`, one wait of the `io_context`, `publish`.
class IoThread {
 public:
  /// Both outlive it.
  IoThread(asio::io_context& context, const Log& log) : context_(context), log_(log) {}
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  // ---- for the sessions

  /// What sessions order; carried out by the next `exchange`.
  [[nodiscard]] Batch<Order>& orders() { return ordered_; }

  /// Replies may leave that were bound to `durable` or to less, and no others.
  void let_go(Lsn durable) { answerable_ = durable; }

  /// What the sockets have said since the last call.
  void take(Batch<Arrival>& arrived) { arrivals_.take(arrived); }

  // ---- for the thread

  /// A further socket, whose session is there already.
  void add(std::unique_ptr<ClientSocket> socket);

  /// Carries out what was ordered, and sends what may leave.
  void exchange();

  /// Reads on where that was ordered: best at the end of a round, since the clients may have sent
  /// more by then.
  void before_wait();

  /// True: another round follows without a wait.
  [[nodiscard]] bool has_work() const {
    return !ordered_.is_empty() || !told_.is_empty() || !unsent_.empty() || !unread_.empty();
  }

  /// Makes known to the sessions what the sockets have said.
  void publish() { (void)arrivals_.post(told_); }

  // ---- for its sockets

  [[nodiscard]] asio::io_context& context() { return context_; }
  [[nodiscard]] const Log& log() const { return log_; }
  [[nodiscard]] ReceiveBuffer& buffer() { return buffer_; }
  [[nodiscard]] Lsn answerable() const { return answerable_; }

  /// Says something to the session. The value is as by default.
  [[nodiscard]] Arrival& tell(ClientSession& session);

  /// False: this round has sent so much that the others come first.
  [[nodiscard]] bool may_send(std::size_t bytes) const {
    return sent_bytes_ < kRoundSentBytesMax || bytes <= kShortOutputBytes;
  }
  void count_sent(std::size_t bytes) { sent_bytes_ += bytes; }

  /// The socket is called again: in the next round, when more is durable, before the next wait.
  void send_later(ClientSocket& socket) { unsent_.push_back(&socket); }
  void await_durable(ClientSocket& socket) { waiting_.push_back(&socket); }
  void receive_later(ClientSocket& socket) { unread_.push_back(&socket); }
  void await_input(ClientSocket& socket) { reading_.push_back(&socket); }

 private:
  using Sockets = std::vector<ClientSocket*>;

  template <typename Call>
  void call_all(Sockets& sockets, Call call);
  void forget(ClientSocket& socket);

  asio::io_context& context_;
  const Log& log_;
  Batch<Order> ordered_;  ///< by the sessions' thread
  Mailbox<Order> orders_;
  Mailbox<Arrival> arrivals_;
  std::atomic<Lsn> answerable_ = 0;

  // The following are the sockets' thread's.
  absl::flat_hash_map<ClientSocket*, std::unique_ptr<ClientSocket>> sockets_;
  Batch<Order> obeyed_;
  Batch<Arrival> told_;
  ReceiveBuffer buffer_;
  Sockets unsent_;
  Sockets waiting_;
  Sockets unread_;
  Sockets reading_;
  Sockets called_;              ///< those of one of these lists, at work
  std::size_t sent_bytes_ = 0;  ///< in this round
  Lsn sent_durable_ = 0;        ///< `answerable_` when `waiting_` was last looked through
};

}  // namespace millrace::server
