#pragma once

#include <absl/container/btree_set.h>

#include <utility>

#include "core/broker/broker.hpp"

namespace millrace::server {

/// Something that is to happen to its owner at a certain time.
class Deadline {
 public:
  Deadline() = default;
  virtual ~Deadline() = default;
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  virtual void expire(Time now) = 0;

 private:
  friend class Ticker;
  Time at_ = kNever;
};

/// Does what has come due: the broker's planned work and all deadlines. The main loop calls `work`
/// once a turn, and sees to it that there is a turn at `next`.
class Ticker {
 public:
  explicit Ticker(Broker& broker) : broker_(broker) {}
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  /// Moves the deadline; kNever takes it away, which must happen before it is destroyed.
  void plan(Deadline& deadline, Time at);

  /// When something will be due, as far as `work` and `plan` know.
  [[nodiscard]] Time next() const { return next_; }

  /// What a call does.
  enum class Scope {
    kAll,        ///< the deadlines, and a slice of the broker's planned work
    kDeadlines,  ///< nothing of the broker: another call follows when jobs may move again
  };

  /// Does a slice of what is due.
  void work(Time now, Scope scope = Scope::kAll);

 private:
  void expire_deadlines(Time now);
  [[nodiscard]] Time next_deadline() const;

  Broker& broker_;
  absl::btree_set<std::pair<Time, Deadline*>> deadlines_;
  Time next_ = kNever;
};

/// How many deadlines one slice lets pass.
inline constexpr std::size_t kSliceDeadlines = 500;

}  // namespace millrace::server
