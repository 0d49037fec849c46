#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "server/net/end_watch.hpp"
#include "server/net/io_thread.hpp"
#include "server/net/poller.hpp"
#include "server/turn/turn.hpp"

namespace millrace::server {

class Connections;

/// The sockets of the job ports, as the main loop waits for them. They belong to threads of their
/// own, or to that of the main loop.
class Net final : public Input {
 public:
  /// `threads`: how many of their own. Throws `std::system_error` when one cannot start.
  Net(Poller& poller, const Log& log, std::size_t threads = 0);
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;

  /// Has their sessions execute what arrives, from now on. They outlive the last `take`.
  void serve(Connections& connections) { connections_ = &connections; }

  /// Where a new socket shall belong: the thread with the fewest.
  [[nodiscard]] IoThread& choose();

  /// Sends what was bound to `durable` or to less, until the lease ends: see `IoThread::let_go`.
  void let_go(Lsn durable, Duration lease = Duration::max());

  /// Has the sessions take what is there, without waiting.
  void exchange();

  /// Ends the threads. The main loop's has the sockets then.
  void end();

  /// What was said since the present `Connections::serve` began.
  void take_more(Batch<Arrival>& arrived);

  /// From now on `await_ends` sees to the client of this socket of `thread`, until `forget_end`.
  /// False: the system has no room for that.
  [[nodiscard]] bool watch_end(int descriptor, IoThread& thread);
  void forget_end(int descriptor);

  /// Waits until I/O threads have said which clients have closed by now, but for those whose last
  /// input was not taken yet. False: none has.
  [[nodiscard]] bool await_ends();

  /// Of each thread. One that has none of its own is the main loop's.
  [[nodiscard]] std::vector<IoThread::Figures> figures() const;

  void take(Duration longest) override;
  [[nodiscard]] bool serves_few() const override { return served_ <= kFew; }
  [[nodiscard]] bool has_work() const override;
  void wake() override { poller_.wake(); }
  void note_durable(Lsn durable) override;

  /// At most so many are few (`Input::serves_few`). Measured with 2 to 50 connections: of 4, 8, 16
  /// and 32, this is the lowest with which 8 clients wait no longer than for a plain epoll server,
  /// and the highest that costs no processor time with more clients.
  static constexpr std::size_t kFew = 8;

 private:
  void submit();
  void hand_over();

  Poller& poller_;
  std::vector<std::unique_ptr<IoThread>> threads_;  ///< at least one
  IoThread* inline_ = nullptr;                      ///< the one of the main loop's thread
  std::optional<EndWatch> ends_;                    ///< with I/O threads
  Connections* connections_ = nullptr;              ///< null: there are no clients yet
  Batch<Arrival> arrived_;
  std::size_t served_ = 0;  ///< how many have said something, for this `take`
};

}  // namespace millrace::server
