#pragma once

#include <nats/nats.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "engines/nats/nats_mailbox.hpp"
#include "engines/nats/nats_url.hpp"
#include "engines/open.hpp"

namespace millrace::engines {

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
