#pragma once

#include <absl/container/btree_set.h>

#include <functional>
#include <utility>

#include "core/broker/broker.hpp"
#include "server/net/loop.hpp"
#include "server/process/clock.hpp"

namespace millrace::server {

/// Something that is to happen to its owner at a certain time.
class Deadline {
 public:
  virtual ~Deadline() = default;
  virtual void expire(Time now) = 0;

 private:
  friend class Ticker;
  Time at_ = kNever;
};

/// Does what has come due: the broker's planned work and the connections' deadlines. The work is
/// done where `work` is called, which is once a turn; what this adds is that a turn comes in time.
class Ticker {
 public:
  /// `wake` must lead to a call of `work` soon, behind what else is ready.
  Ticker(Loop& loop, Broker& broker, Clock& clock, std::function<void()> wake);
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  /// Moves the deadline; kNever takes it away, which must happen before it is destroyed.
  void plan(Deadline& deadline, Time at);

  /// When something will be due, as far as `work` and `plan` know.
  [[nodiscard]] Time next() const { return next_; }

  /// What a call does beside the deadlines.
  enum class Jobs {
    kMove,  ///< a slice of the broker's planned work
    kRest,  ///< nothing of it: there will be another call when they may move again
  };

  /// Does a slice of what is due and sees to it that the rest will be.
  void work(Time now, Jobs jobs = Jobs::kMove);

 private:
  void expire_deadlines(Time now);
  [[nodiscard]] Time next_deadline() const;
  void arm();

  Broker& broker_;
  Clock& clock_;
  std::function<void()> wake_;
  absl::btree_set<std::pair<Time, Deadline*>> deadlines_;
  Timer timer_;
  Time next_ = kNever;
  Time armed_for_ = kNever;
};

/// How many deadlines one slice lets pass.
inline constexpr std::size_t kSliceDeadlines = 500;

}  // namespace millrace::server
