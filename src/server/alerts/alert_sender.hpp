#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "http/routes/alerts.hpp"
#include "server/options/tables/alert_options.hpp"

namespace millrace::server {

/// Sends messages of alerts, in a thread of its own, and again if that fails. Nobody waits for it:
/// a receiver that does not answer holds up nobody, not even the other receivers.
class AlertSender {
 public:
  using Milliseconds = std::chrono::milliseconds;

  /// How long it tries: with these pauses, which double, about 15 minutes.
  struct Patience {
    unsigned tries_max = 10;
    Milliseconds pause = std::chrono::seconds(2);
    Milliseconds pause_max = std::chrono::minutes(5);
    Milliseconds try_max = std::chrono::seconds(10);
  };
  /// Requests at a time; others wait.
  static constexpr std::size_t kRequestsMax = 16;

  AlertSender(std::vector<AlertOptions> receivers, Patience patience);
  explicit AlertSender(std::vector<AlertOptions> receivers)
      : AlertSender(std::move(receivers), Patience{}) {}

  /// What was not delivered yet is dropped.
  ~AlertSender();
  AlertSender(const AlertSender&) = delete;
  AlertSender& operator=(const AlertSender&) = delete;

  void hand_over(http::AlertMessage message);

  /// What has become of messages since the last call.
  [[nodiscard]] std::vector<http::AlertResult> take();

 private:
  struct Shared;
  class Work;

  std::shared_ptr<Shared> shared_;  ///< shared with the thread, which may outlive this
};

/// The header that shows that a message is from somebody who knows the secret: the time in seconds
/// since 1970, and HMAC-SHA-256 of `TIME.BODY`.
[[nodiscard]] std::string alert_signature(std::string_view secret, std::int64_t time,
                                          std::string_view body);

}  // namespace millrace::server
