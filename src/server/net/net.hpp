#pragma once

#include <cstddef>

#include "server/net/io_thread.hpp"
#include "server/net/poller.hpp"
#include "server/turn/turn.hpp"

namespace millrace::server {

/// The clients of the job ports, as the main loop waits for them.
class Net final : public Input {
 public:
  /// Who executes what arrives.
  class Sessions {
   public:
    virtual ~Sessions() = default;
    /// Takes what arrived, and executes as much as one turn should.
    virtual void serve(Batch<Arrival>& arrived) = 0;
    /// `serve` has something to do, though nothing has arrived.
    [[nodiscard]] virtual bool has_ready() const = 0;
  };

  Net(Poller& poller, const Log& log) : poller_(poller), sockets_(poller.context(), log) {}
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;

  /// They outlive the last `take`.
  void serve(Sessions& sessions) { sessions_ = &sessions; }

  [[nodiscard]] IoThread& sockets() { return sockets_; }

  /// Sends what was bound to `durable` or to less.
  void let_go(Lsn durable);

  /// Has the sessions take what is there, without waiting.
  void exchange();

  /// What was said since the present `Sessions::serve` began.
  void take_more(Batch<Arrival>& arrived);

  void take(Duration longest) override;
  [[nodiscard]] bool serves_few() const override { return served_ <= kFew; }
  [[nodiscard]] bool has_work() const override;
  void wake() override { poller_.wake(); }

  /// At most so many are few (`Input::serves_few`). Measured with 2 to 50 connections: of 4, 8, 16
  /// and 32, this is the lowest with which 8 clients wait no longer than for a plain epoll server,
  /// and the highest that costs no processor time with more clients.
  static constexpr std::size_t kFew = 8;

 private:
  void hand_over();

  Poller& poller_;
  IoThread sockets_;
  Sessions* sessions_ = nullptr;  ///< null: there are no clients yet
  Batch<Arrival> arrived_;
  std::size_t served_ = 0;  ///< how many have said something, for this `take`
};

}  // namespace millrace::server
