#include "server/alerts/alert_sender.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

#include "http/kit/text.hpp"
#include "server/cluster/node_reports.hpp"

namespace millrace::server {
namespace {

using http::concat;

/// While there is something to send, it is looked at so often.
constexpr Duration kLook = 50ms;

std::string request_of(const AlertOptions& receiver, const std::string& body) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const std::string signature =
      receiver.secret.empty()
          ? ""
          : concat("Millrace-Signature: ",
                   alert_signature(receiver.secret, now.time_since_epoch().count(), body), "\r\n");
  return concat("POST ", receiver.target, " HTTP/1.1\r\nHost: ", receiver.host(),
                "\r\nUser-Agent: millrace/", MILLRACE_VERSION,
                "\r\nContent-Type: application/json\r\nContent-Length: ", body.size(), "\r\n",
                signature, "Connection: close\r\n\r\n", body);
}

/// The receiver refuses it whenever it is sent.
bool is_final(int status) {
  return status >= 300 && status < 500 && status != 408 && status != 429;
}

}  // namespace

std::string alert_signature(std::string_view secret, std::int64_t time, std::string_view body) {
  return concat("t=", time, ",v1=", hmac_of(secret, concat(time, ".", body)));
}

AlertSender::AlertSender(Poller& poller, std::vector<AlertOptions> receivers, Patience patience)
    : poller_(poller), receivers_(std::move(receivers)), patience_(patience) {
  if (std::ranges::any_of(receivers_, &AlertOptions::is_https)) {
    // Shared with requests.
    tls_ = std::make_shared<const TlsContext>(TlsContext::client());
  }
}

void AlertSender::hand_over(http::AlertMessage message) {
  deliveries_.emplace_back(poller_, std::move(message));
  next_ = {};
}

void AlertSender::work(Time now) {
  if (now < next_due()) return;
  next_ = now + kLook;
  std::erase_if(deliveries_, [&](Delivery& each) { return advance_or_fail(each, now); });
}

bool AlertSender::advance_or_fail(Delivery& delivery, Time now) try {
  return advance(delivery, now);
} catch (const std::exception& exception) {  // the system has no room for a socket
  return fail(delivery, exception.what(), false, now);
}

bool AlertSender::advance(Delivery& delivery, Time now) {
  const std::size_t alert = delivery.message.place.alert;
  const AlertOptions& receiver = receivers_.at(alert);
  if (delivery.post) {
    if (!delivery.post->is_over()) return false;
    const int status = delivery.post->status();
    if (status >= 200 && status < 300) return end(delivery, {});
    const std::string problem =
        status == 0 ? delivery.post->problem() : concat("it answered with status ", status);
    return fail(delivery, problem, is_final(status), now);
  }
  const auto is_before = [&](const Delivery& other) {
    return other.message.place.alert == alert && other.is_trying();
  };
  switch (delivery.lookup.state()) {
    case NameLookup::State::kNone:
      if (now < delivery.next || std::ranges::any_of(deliveries_, is_before)) return false;
      delivery.next = now + patience_.try_max;
      delivery.lookup.begin(receiver.address);
      return advance(delivery, now);
    case NameLookup::State::kAsking:
      return now >= delivery.next && fail(delivery, "the name server does not answer", false, now);
    case NameLookup::State::kNotFound:
      return fail(delivery, "the host is not known", false, now);
    case NameLookup::State::kFound:
      break;
  }
  // Shared with its handlers.
  delivery.post = std::make_shared<HttpPost>(
      poller_.context(), HttpPost::Options{.host = receiver.address.host,
                                           .tls = receiver.is_https ? tls_ : nullptr,
                                           .request = request_of(receiver, delivery.message.body),
                                           .time_max = patience_.try_max});
  delivery.post->begin(delivery.lookup.name());
  return false;
}

bool AlertSender::fail(Delivery& delivery, const std::string& problem, bool is_final, Time now) {
  delivery.post.reset();
  delivery.lookup.forget();
  ++delivery.tries;
  if (is_final || delivery.tries == patience_.tries_max) return end(delivery, problem);
  const auto pause = patience_.pause * (1U << std::min(delivery.tries - 1, 20U));
  delivery.next = now + std::min<Duration>(pause, patience_.pause_max);
  return false;
}

bool AlertSender::end(const Delivery& delivery, const std::string& problem) {
  results_.push_back({.place = delivery.message.place,
                      .is_firing = delivery.message.is_firing,
                      .tries = delivery.tries,
                      .problem = problem});
  return true;
}

}  // namespace millrace::server
