#pragma once

#include <nats/nats.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "engines/nats_url.hpp"
#include "engines/open.hpp"

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
  struct Arrival {
    std::uint64_t subscription = 0;
    NatsMessage message;
  };

  void put(std::uint64_t subscription, NatsMessage message) {
    const std::lock_guard lock(mutex_);
    arrivals_.push_back({subscription, std::move(message)});
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
    std::deque<Arrival> arrivals;
    bool is_woken = false;
    std::uint64_t lost_connections = 0;
  };

  /// Takes all arrivals. Waits for one, for `wake`, for a change of `lost_connections`, or until
  /// then.
  [[nodiscard]] Mail take(Time until, std::uint64_t known_lost_connections) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, until, [&] {
      return !arrivals_.empty() || is_woken_ || lost_connections_ != known_lost_connections;
    });
    return {std::exchange(arrivals_, {}), std::exchange(is_woken_, false), lost_connections_};
  }

  /// No subscription had it before.
  [[nodiscard]] std::uint64_t new_subscription() { return ++subscriptions_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Arrival> arrivals_;
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

/// Puts what arrives for one subject into the mailbox, until `end`. It lives for a while longer:
/// libnats before 3.6 may crash when a message arrives for a subscription that is just being
/// destroyed.
class NatsSubscription {
 public:
  using Time = NatsMailbox::Time;

  NatsSubscription(NatsMailbox& mailbox, NatsCallers& callers)
      : mailbox_(mailbox), callers_(callers), number_(mailbox.new_subscription()) {}
  ~NatsSubscription();
  NatsSubscription(const NatsSubscription&) = delete;
  NatsSubscription& operator=(const NatsSubscription&) = delete;

  [[nodiscard]] natsStatus begin(natsConnection* connection, const std::string& subject);
  void end(Time now) {
    static_cast<void>(natsSubscription_Unsubscribe(subscription_));
    ended_at_ = now;
  }
  [[nodiscard]] std::optional<Time> ended_at() const { return ended_at_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }

 private:
  struct Receiver {
    NatsMailbox& mailbox;
    NatsCallers& callers;
    std::uint64_t number;
  };

  NatsMailbox& mailbox_;
  NatsCallers& callers_;
  std::uint64_t number_;
  natsSubscription* subscription_ = nullptr;
  std::unique_ptr<Receiver> closed_;  ///< of one that could not be begun
  std::optional<Time> ended_at_;
};

/// A connection to one of several servers. When it breaks, the library connects again by itself, to
/// whichever server answers. All calls come from one thread.
class NatsConnection {
 public:
  /// Connects, within a few seconds. The mailbox outlives it.
  [[nodiscard]] static Outcome<std::unique_ptr<NatsConnection>> open(const NatsUrl& url,
                                                                     const Options& options,
                                                                     NatsMailbox& mailbox);
  /// Waits until the library's threads have ended their calls.
  ~NatsConnection();
  NatsConnection(const NatsConnection&) = delete;
  NatsConnection& operator=(const NatsConnection&) = delete;

  [[nodiscard]] bool is_connected() const;
  /// The library has given up, since servers refused it as they did before.
  [[nodiscard]] bool is_closed() const;
  /// nullopt: it is connected.
  [[nodiscard]] std::optional<Problem> problem() const;

  /// Sends without waiting for anything but the network. With a reply subject, answers go there.
  [[nodiscard]] natsStatus publish(const std::string& subject, const std::string& reply,
                                   std::string_view bytes);
  [[nodiscard]] natsStatus publish(natsMsg& message);
  /// Asks, and waits for one answer.
  [[nodiscard]] Outcome<NatsMessage> request(const std::string& subject, std::string_view bytes,
                                             std::chrono::milliseconds timeout);

  /// The connection owns it, and forgets it a minute after its end. Null: it could not be made.
  [[nodiscard]] NatsSubscription* subscribe(const std::string& subject, NatsMailbox::Time now);
  [[nodiscard]] std::size_t subscription_count() const { return subscriptions_.size(); }
  /// A subject below which nobody else gets or sends messages.
  [[nodiscard]] const std::string& inbox() const { return inbox_; }

  [[nodiscard]] natsConnection* handle() { return connection_; }

 private:
  explicit NatsConnection(NatsMailbox& mailbox) : mailbox_(mailbox) {}

  NatsMailbox& mailbox_;
  NatsCallers callers_;
  natsConnection* connection_ = nullptr;
  std::vector<std::unique_ptr<NatsSubscription>> subscriptions_;
  std::string inbox_;
};

/// What a person reads about a status of the library, which itself may name the URL.
[[nodiscard]] Problem nats_problem(natsStatus status);

}  // namespace millrace::engines
