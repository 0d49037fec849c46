#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "server/turn/call_list.hpp"
#include "server/turn/turn.hpp"

namespace asio {
class io_context;
}

namespace millrace::server {

/// One that the main loop serves.
class Pollee {
 public:
  virtual ~Pollee() = default;

  /// Its socket has something for it, as it told the poller (`Poller::serve`).
  virtual void on_ready() = 0;

  /// The next wait begins, as it asked to be told (`Poller::serve_before_wait`).
  virtual void on_wait() {}

  /// It asked to be served once more (`Poller::serve_again`). False: it was not served, and is to
  /// be asked first by the next `take`.
  [[nodiscard]] virtual bool on_served_again() { return true; }

 private:
  friend class Poller;
  bool is_ready_ = false;
  bool is_queued_ = false;
  bool waits_ = false;
};

/// All that the main loop waits for: sockets, and what other threads have to say. Waits through
/// one `asio::io_context`, whose handlers run in `take`. Those of clients note what has happened,
/// and what follows from it is done afterwards, in an order of ours.
class Poller final : public Input {
 public:
  Poller();
  ~Poller() override;
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  /// At most so many are few (`Input::serves_few`). Measured with 2 to 50 connections: of 4, 8, 16
  /// and 32, this is the lowest with which 8 clients wait no longer than for a plain epoll server,
  /// and the highest that costs no processor time with more clients.
  static constexpr std::size_t kFew = 8;

  /// For sockets and timers. Not to be run by anybody else.
  [[nodiscard]] asio::io_context& context();

  /// `pollee.on_ready()` is called once the wait is over. To be called by handlers of `context`.
  void serve(Pollee& pollee);
  /// The same, before all others: its client has closed, and is gone for their commands.
  void serve_first(Pollee& pollee);

  /// `pollee.on_served_again()` is called by the next `take`, after what arrives by then.
  void serve_again(Pollee& pollee);

  /// `pollee.on_wait()` is called by the next `take`, before it waits.
  void serve_before_wait(Pollee& pollee);

  /// `pollee` is not called any more.
  void forget(Pollee& pollee);

  /// Calls `call` in the main loop's thread, soon. May be called from any thread.
  void post(std::function<void()> call);

  /// Whether the last `take` has left some that are to be served first by the next one.
  [[nodiscard]] bool has_turned_away() const { return has_turned_away_; }

  void take(Duration longest) override;
  [[nodiscard]] bool serves_few() const override { return served_ <= kFew; }
  void wake() override;

 private:
  struct Waiting;

  void wait(Duration longest);
  static void serve_all(CallList<Pollee>& ready);
  void serve_queued();
  void call_posted();

  const std::unique_ptr<Waiting> waiting_;
  CallList<Pollee> before_wait_;
  CallList<Pollee> first_;
  CallList<Pollee> ready_;
  std::size_t served_ = 0;  ///< how many this `take` has to serve
  CallList<Pollee> queued_;
  CallList<Pollee> serving_;  ///< those of `queued_` at work
  bool has_turned_away_ = false;
  CallList<Pollee> unserved_;  ///< those of `serving_` that were not served, for `queued_`

  std::atomic<bool> is_woken_ = false;  ///< since the last wait ended
  std::mutex mutex_;                    ///< of the following
  std::vector<std::function<void()>> posted_;
};

}  // namespace millrace::server
