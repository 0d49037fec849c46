#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/model/types.hpp"
#include "server/turn/call_list.hpp"

namespace asio {
class io_context;
}

namespace millrace::server {

/// One that is told before the main loop waits.
class Pollee {
 public:
  virtual ~Pollee() = default;
  virtual void on_wait() = 0;

 private:
  friend class Poller;
  bool waits_ = false;
};

/// All that a thread waits for, the main loop's or one that has sockets: these, and what other
/// threads have to say. Waits through one `asio::io_context`, whose handlers run in `take`.
class Poller {
 public:
  Poller();
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  /// For sockets and timers. Not to be run by anybody else.
  [[nodiscard]] asio::io_context& context();

  /// `pollee.on_wait()` is called by the next `take`, before it waits.
  void before_wait(Pollee& pollee);

  /// `pollee` is not called any more.
  void forget(Pollee& pollee);

  /// Calls `call` in the thread that waits, soon. May be called from any thread.
  void post(std::function<void()> call);

  /// Waits until something has happened, `wake` was called or `longest` is over, and then makes the
  /// calls that were posted.
  void take(Duration longest);

  // The two halves of that, for one who has something to do in between.
  void wait(Duration longest);
  void run_posted();

  /// Makes `take` return soon. May be called from any thread.
  void wake();

 private:
  struct Waiting;

  const std::unique_ptr<Waiting> waiting_;
  CallList<Pollee> before_wait_;

  bool was_woken_ = false;              ///< since what was posted was run
  std::atomic<bool> is_woken_ = false;  ///< since the last wait ended
  std::mutex mutex_;                    ///< of the following
  std::vector<std::function<void()>> posted_;
};

}  // namespace millrace::server
