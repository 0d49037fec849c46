#pragma once

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include "server/turn/call_list.hpp"
#include "server/turn/turn.hpp"

namespace millrace::server {

/// What the system said about a socket.
struct SocketEvents {
  bool is_readable = false;  ///< there is something to receive: bytes, the end or an error
  bool is_writable = false;  ///< there is room again, after there was none
  bool is_over = false;      ///< the client sends nothing more; what it sent may still be there
  bool is_broken = false;    ///< nothing can be sent any more
};

/// One that has a socket.
class Pollee {
 public:
  virtual ~Pollee() = default;

  /// Something happened.
  virtual void on_events(SocketEvents events) = 0;

  /// It asked to be served once more (`Poller::serve_again`). False: it was not served, and is to
  /// be asked first by the next `take`.
  [[nodiscard]] virtual bool on_served_again() { return true; }

 private:
  friend class Poller;
  bool is_queued_ = false;
};

/// All that the main loop waits for: sockets, and what other threads have to say. One epoll set,
/// and one wait for it in each `take`.
class Poller final : public Input {
 public:
  Poller();
  ~Poller() override;
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  enum class Trigger {
    kOnce,   ///< an event is told once: what is not received then is not told again
    kAlways  ///< an event is told in each turn, until it has passed
  };

  /// At most so many are few (`Input::serves_few`). Measured with 2 to 50 connections: of 4, 8, 16
  /// and 32, this is the lowest with which 8 clients wait no longer than for a plain epoll server,
  /// and the highest that costs no processor time with more clients.
  static constexpr std::size_t kFew = 8;

  /// `pollee` is told what happens on the socket, and first what has happened already. Until
  /// `forget`. False when the system has no room for another one.
  [[nodiscard]] bool watch(int descriptor, Pollee& pollee, Trigger trigger = Trigger::kOnce);

  /// `pollee` is told nothing any more, and the socket may be closed.
  void forget(int descriptor, Pollee& pollee);

  /// `pollee.on_served_again()` is called by the next `take`, after what arrives by then.
  void serve_again(Pollee& pollee);

  /// Calls `call` in the main loop's thread, soon. May be called from any thread.
  void post(std::function<void()> call);

  /// Whether the last `take` has left some that are to be served first by the next one.
  [[nodiscard]] bool has_turned_away() const { return has_turned_away_; }

  void take(Duration longest) override;
  [[nodiscard]] bool serves_few() const override { return served_ <= kFew; }
  void wake() override;

 private:
  /// How much is learnt by a `take`; the rest is for the next one.
  static constexpr std::size_t kEvents = 256;

  void wait(Duration longest);
  void serve_events(bool are_over);
  void serve_queued();
  void call_posted();

  int set_;
  int wake_;  ///< an eventfd that is written to and never read: edge-triggered, each write tells
  std::array<epoll_event, kEvents> events_{};
  std::size_t events_end_ = 0;
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
