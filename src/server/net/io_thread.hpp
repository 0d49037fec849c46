#pragma once

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/net/client_socket.hpp"
#include "server/net/poller.hpp"
#include "server/net/stream.hpp"
#include "server/process/logging.hpp"
#include "server/turn/link.hpp"
#include "server/turn/mailbox.hpp"

namespace millrace::server {

/// When a thread has sent so much in a round, output of a client with more than `kShortOutputBytes`
/// of it waits for the next one. A send can exceed it. So a short reply never waits for long ones.
inline constexpr std::size_t kRoundSentBytesMax = std::size_t{512} << 10;
inline constexpr std::size_t kShortOutputBytes = 4 * 1024;

/// How often a requested round goes on with events that are left: each time with 256 of them.
/// Clients that keep sockets ready for ever must not make it endless.
inline constexpr int kLooksMax = 256;

/// The sockets of clients that belong to a thread, and the two queues between them and their
/// sessions. The thread is one of its own, or that of the sessions.
class IoThread {
 public:
  /// Runs in the thread of the sessions, which calls `exchange`, `before_wait`, a wait of the
  /// poller, and `publish`, again and again. Both outlive it.
  IoThread(Poller& poller, const Log& log);

  /// Runs in a thread of its own, called `name`. `wake` is called there when the sockets have said
  /// something and the sessions may sleep. Throws `std::system_error` when there is no thread.
  IoThread(const std::string& name, const Log& log, std::function<void()> wake);

  /// Its sockets were forgotten.
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  // ---- for the sessions

  /// What sessions order, until `submit`.
  [[nodiscard]] Batch<Order>& orders() { return ordered_; }
  [[nodiscard]] bool has_orders() const { return !ordered_.is_empty(); }

  /// A further socket. The order that opens it comes before all others to it.
  void add(std::unique_ptr<ClientSocket> socket);

  /// Has it carried out.
  void submit();

  /// Replies may leave that were bound to `durable` or to less, and no others; and none any more
  /// when the lease of the log is over, `lease` from now.
  void let_go(Lsn durable, Duration lease);

  /// Replies may leave too that were bound to that or to less. May be called from any thread; not
  /// where there is a lease.
  void note_durable(Lsn durable);

  /// Has a thread of its own look once more at all its sockets. A number for `await_round`.
  [[nodiscard]] std::uint64_t request_round();
  /// Waits until it has published what it saw.
  void await_round(std::uint64_t number);

  /// Adds what the sockets have said since the last call. Without a thread `arrived` is empty.
  void take(Batch<Arrival>& arrived);

  /// It has a thread of its own, which has not ended.
  [[nodiscard]] bool has_thread() const { return thread_.joinable(); }

  /// Ends the thread, when it has carried out what was submitted. What follows is done in the
  /// thread of the sessions.
  void end();

  /// How many sockets were added and not forgotten yet.
  [[nodiscard]] std::size_t count() const { return count_; }

  /// What it has done so far.
  struct Figures {
    std::string name;  ///< of the thread; `main` where that is the one of the sessions
    std::size_t connections = 0;
    std::uint64_t rounds = 0;  ///< each waits for the sockets once
    std::uint64_t received_bytes = 0;
    std::uint64_t sent_bytes = 0;
    Duration processor_time{};  ///< of its thread; 0 where that is the one of the sessions
  };
  [[nodiscard]] Figures figures() const;

  // ---- for its thread

  /// Carries out what was submitted, and sends what may leave.
  void exchange();

  /// Reads on where that was ordered: best at the end of a round, since the clients may have sent
  /// more by then.
  void before_wait();

  /// True: another round follows without a wait.
  [[nodiscard]] bool has_work() const {
    return !told_.is_empty() || !unsent_.empty() || !unread_.empty();
  }

  /// Makes known to the sessions what the sockets have said.
  void publish();

  // ---- for its sockets

  [[nodiscard]] asio::io_context& context() { return poller_.context(); }
  [[nodiscard]] const Log& log() const { return log_; }
  [[nodiscard]] ReceiveBuffer& buffer() { return buffer_; }

  /// What is bound to no more than this may leave now.
  [[nodiscard]] Lsn answerable() const;

  /// Says something to the session. The value is as by default.
  [[nodiscard]] Arrival& tell(ClientSession& session);

  /// False: this round has sent so much that the others come first.
  [[nodiscard]] bool may_send(std::size_t bytes) const {
    return round_bytes_ < kRoundSentBytesMax || bytes <= kShortOutputBytes;
  }
  void count_sent(std::size_t bytes);
  void count_received(std::size_t bytes);

  /// The socket is called again: in the next round, when more is durable, before the next wait.
  void send_later(ClientSocket& socket) { unsent_.push_back(&socket); }
  /// `seen`: the position that it was told of.
  void await_durable(ClientSocket& socket, Lsn seen) {
    waiting_.push_back(&socket);
    sent_durable_ = std::min(sent_durable_, seen);
  }
  void receive_later(ClientSocket& socket) { unread_.push_back(&socket); }
  void await_input(ClientSocket& socket) { reading_.push_back(&socket); }

 private:
  using Sockets = std::vector<ClientSocket*>;
  using Steady = std::chrono::steady_clock;

  void run();
  template <typename Call>
  void call_all(Sockets& sockets, Call call);
  void open(ClientSocket& socket);
  void forget(ClientSocket& socket);

  const std::string name_ = "main";
  const std::unique_ptr<Poller> own_poller_;  ///< null: that of the sessions' thread
  Poller& poller_;
  const Log& log_;
  const std::function<void()> wake_sessions_;
  Mailbox<Order> orders_;
  Mailbox<Arrival> arrivals_;
  std::atomic<Lsn> answerable_ = 0;
  std::atomic<Steady::time_point> answerable_until_ = Steady::time_point::max();
  std::atomic<bool> awaits_durable_ = false;  ///< `waiting_` has some
  std::atomic<bool> is_stopping_ = false;
  std::atomic<std::uint64_t> rounds_ = 0;
  std::atomic<std::uint64_t> requested_rounds_ = 0;
  std::atomic<std::uint64_t> done_rounds_ =
      0;  ///< of these, those that have published what they saw
  std::atomic<std::uint64_t> received_bytes_ = 0;
  std::atomic<std::uint64_t> sent_bytes_ = 0;

  // The sessions' thread's.
  Batch<Order> ordered_;
  std::size_t count_ = 0;

  // The sockets' thread's.
  absl::flat_hash_map<ClientSocket*, std::unique_ptr<ClientSocket>> sockets_;
  Batch<Order> obeyed_;
  Batch<Arrival> told_;
  ReceiveBuffer buffer_;
  Sockets unsent_;
  Sockets waiting_;
  Sockets unread_;
  Sockets reading_;
  Sockets called_;               ///< those of one of these lists, at work
  std::size_t round_bytes_ = 0;  ///< that were sent in this round
  Lsn sent_durable_ = 0;         ///< the least `answerable()` that one of `waiting_` has seen

  std::thread thread_;
};

}  // namespace millrace::server
