#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/routes/alerts.hpp"
#include "server/net/http_post.hpp"
#include "server/net/poller.hpp"
#include "server/options/tables/alert_options.hpp"
#include "server/relay/name_lookup.hpp"

namespace millrace::server {

/// Sends messages of alerts, and again if that fails. Nothing waits for it. Each alert has one
/// request at a time, so a receiver that does not answer holds up its own messages only.
class AlertSender {
 public:
  /// How long it tries: with these pauses, which double, about 15 minutes.
  struct Patience {
    unsigned tries_max = 10;
    Duration pause = 2s;
    Duration pause_max = 5min;
    Duration try_max = 10s;
  };

  /// The poller outlives it. What was not delivered yet is dropped at its end.
  AlertSender(Poller& poller, std::vector<AlertOptions> receivers, Patience patience);
  AlertSender(Poller& poller, std::vector<AlertOptions> receivers)
      : AlertSender(poller, std::move(receivers), Patience{}) {}

  void hand_over(http::AlertMessage message);

  /// Goes on. To be called at `next_due`.
  void work(Time now);
  [[nodiscard]] Time next_due() const { return deliveries_.empty() ? kNever : next_; }

  /// What has become of messages since the last call.
  [[nodiscard]] std::vector<http::AlertResult> take() { return std::exchange(results_, {}); }

 private:
  struct Delivery {
    Delivery(Poller& poller, http::AlertMessage from) : message(std::move(from)), lookup(poller) {}
    ~Delivery() {
      if (post) post->end();
    }

    http::AlertMessage message;
    unsigned tries = 0;
    Time next{};  ///< when to try again; or when the lookup has taken too long
    NameLookup lookup;
    std::shared_ptr<HttpPost> post = nullptr;  ///< shared with its handlers

    [[nodiscard]] bool is_trying() const {
      return post || lookup.state() != NameLookup::State::kNone;
    }
  };

  // True: it is over.
  bool advance_or_fail(Delivery& delivery, Time now);
  bool advance(Delivery& delivery, Time now);
  bool fail(Delivery& delivery, const std::string& problem, bool is_final, Time now);
  bool end(const Delivery& delivery, const std::string& problem);

  Poller& poller_;
  const std::vector<AlertOptions> receivers_;
  const Patience patience_;
  std::shared_ptr<const TlsContext> tls_;  ///< shared with requests; null: no receiver has TLS
  std::list<Delivery> deliveries_;
  std::vector<http::AlertResult> results_;
  Time next_{};
};

/// The header that shows that a message is from somebody who knows the secret: the time in seconds
/// since 1970, and HMAC-SHA-256 of `TIME.BODY`.
[[nodiscard]] std::string alert_signature(std::string_view secret, std::int64_t time,
                                          std::string_view body);

}  // namespace millrace::server
