#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/model/types.hpp"

namespace asio {
class io_context;
}

namespace millrace::server {

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

  /// Calls `call` in the thread that waits, soon. May be called from any thread.
  void post(std::function<void()> call);

  /// Waits until something has happened, `wake` was called or `longest` is over, and then makes the
  /// calls that were posted.
  void take(Duration longest);

  // The two halves of that, for one who has something to do in between.
  /// True: more handlers may be ready.
  bool wait(Duration longest);
  void run_posted();

  /// Makes `take` return soon. May be called from any thread.
  void wake();

 private:
  struct Waiting;

  const std::unique_ptr<Waiting> waiting_;

  bool was_woken_ = false;              ///< since what was posted was run
  std::atomic<bool> is_woken_ = false;  ///< since the last wait ended
  std::mutex mutex_;                    ///< of the following
  std::vector<std::function<void()>> posted_;
};

}  // namespace millrace::server
