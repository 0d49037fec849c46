#pragma once

#include <nats/nats.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

namespace millrace::engines {

struct DestroyNatsMessage {
  void operator()(natsMsg* message) const { natsMsg_Destroy(message); }
};
using NatsMessage = std::unique_ptr<natsMsg, DestroyNatsMessage>;

/// What the message carries, as long as it lives.
[[nodiscard]] inline std::string_view bytes_of(const natsMsg& message) {
  return {natsMsg_GetData(&message), static_cast<std::size_t>(natsMsg_GetDataLength(&message))};
}

/// What the threads of the client library hand over to the thread that uses the log.
class NatsMailbox {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// What has arrived. Every subscription has a number of its own.
  struct Letter {
    std::uint64_t subscription = 0;
    NatsMessage message;
  };

  void put(std::uint64_t subscription, NatsMessage message) {
    const std::lock_guard lock(mutex_);
    letters_.push_back({subscription, std::move(message)});
    changed_.notify_one();
  }

  void wake() {
    const std::lock_guard lock(mutex_);
    is_woken_ = true;
    changed_.notify_one();
  }

  /// Each loss of the connection counts once, so nobody misses a short one.
  void note_lost_connection() {
    const std::lock_guard lock(mutex_);
    ++lost_connections_;
    changed_.notify_one();
  }

  [[nodiscard]] std::uint64_t lost_connections() {
    const std::lock_guard lock(mutex_);
    return lost_connections_;
  }

  struct Mail {
    std::deque<Letter> letters;
    bool is_woken = false;
    std::uint64_t lost_connections = 0;
  };

  /// Takes all letters. Waits for one, for `wake`, for a change of `lost_connections`, or until
  /// then.
  [[nodiscard]] Mail take(Time until, std::uint64_t known_lost_connections) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, until, [&] {
      return !letters_.empty() || is_woken_ || lost_connections_ != known_lost_connections;
    });
    return {std::exchange(letters_, {}), std::exchange(is_woken_, false), lost_connections_};
  }

  /// No subscription had it before.
  [[nodiscard]] std::uint64_t new_subscription() { return ++subscriptions_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Letter> letters_;
  bool is_woken_ = false;
  std::uint64_t lost_connections_ = 0;
  std::uint64_t subscriptions_ = 0;  ///< only for the thread that uses the log
};

/// Counts what the library may still call. Its objects end some time after they were destroyed.
class NatsCallers {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  void remove() {
    const std::lock_guard lock(mutex_);
    --count_;
    changed_.notify_all();
  }
  void wait_for_end() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

}  // namespace millrace::engines
