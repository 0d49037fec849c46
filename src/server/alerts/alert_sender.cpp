#include "server/alerts/alert_sender.hpp"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "http/kit/text.hpp"
#include "server/cluster/report_signature.hpp"
#include "server/net/http_post.hpp"
#include "server/net/poller.hpp"
#include "server/process/process.hpp"
#include "server/relay/name_lookup.hpp"

namespace millrace::server {
namespace {

using http::concat;
using Steady = std::chrono::steady_clock;

/// So long a thread that ends is waited for. It never waits itself, but for a machine that is busy.
constexpr auto kEndMax = std::chrono::milliseconds(200);
/// While there is something to send, it is looked at so often.
constexpr auto kLook = std::chrono::milliseconds(50);

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

struct AlertSender::Shared {
  std::optional<Poller> poller;  ///< nullopt: the system has no room for it
  std::mutex mutex;              ///< of the following
  std::condition_variable has_ended;
  bool is_over = false;
  bool is_running = false;                   ///< the thread
  std::vector<http::AlertMessage> messages;  ///< that the thread does not have yet
  std::vector<http::AlertResult> results;
};

/// The thread.
class AlertSender::Work {
 public:
  Work(Shared& shared, std::vector<AlertOptions> receivers, Patience patience)
      : shared_(shared), receivers_(std::move(receivers)), patience_(patience) {}

  void run() {
    while (take()) {
      std::erase_if(deliveries_, [this](Delivery& each) { return advance_or_fail(each); });
      shared_.poller->take(deliveries_.empty() ? Duration(1h) : Duration(kLook));
    }
  }

 private:
  struct Delivery {
    Delivery(Poller& poller, http::AlertMessage from) : message(std::move(from)), lookup(poller) {}
    ~Delivery() {
      if (post) post->end();
    }

    http::AlertMessage message;
    unsigned tries = 0;
    Steady::time_point next{};  ///< when to try again; or when the lookup has taken too long
    NameLookup lookup;
    std::shared_ptr<HttpPost> post = nullptr;  ///< shared with its handlers

    [[nodiscard]] bool is_trying() const {
      return post || lookup.state() != NameLookup::State::kNone;
    }
  };

  /// False: the end.
  bool take() {
    const std::lock_guard guard(shared_.mutex);
    for (http::AlertMessage& each : shared_.messages) {
      deliveries_.emplace_back(*shared_.poller, std::move(each));
    }
    shared_.messages.clear();
    return !shared_.is_over;
  }

  /// True: it is over.
  bool advance_or_fail(Delivery& delivery) try {
    return advance(delivery);
  } catch (const std::exception& exception) {  // the system has no room for a socket
    return fail(delivery, exception.what(), false);
  }

  bool advance(Delivery& delivery) {
    const auto now = Steady::now();
    const AlertOptions& receiver = receivers_.at(delivery.message.place.alert);
    if (delivery.post) {
      if (!delivery.post->is_over()) return false;
      const int status = delivery.post->status();
      if (status >= 200 && status < 300) return end(delivery, {});
      const std::string problem =
          status == 0 ? delivery.post->problem() : concat("it answered with status ", status);
      return fail(delivery, problem, is_final(status));
    }
    switch (delivery.lookup.state()) {
      case NameLookup::State::kNone:
        if (now < delivery.next || is_full()) return false;
        delivery.next = now + patience_.try_max;
        delivery.lookup.begin(receiver.address);
        return advance(delivery);
      case NameLookup::State::kAsking:
        return now >= delivery.next && fail(delivery, "the name server does not answer", false);
      case NameLookup::State::kNotFound:
        return fail(delivery, "the host is not known", false);
      case NameLookup::State::kFound:
        break;
    }
    // Shared with its handlers.
    delivery.post = std::make_shared<HttpPost>(
        shared_.poller->context(),
        HttpPost::Options{.host = receiver.address.host,
                          .tls = receiver.is_https ? tls_ : nullptr,
                          .request = request_of(receiver, delivery.message.body),
                          .time_max = patience_.try_max});
    delivery.post->begin(delivery.lookup.name());
    return false;
  }

  [[nodiscard]] bool is_full() const {
    return std::ranges::count_if(deliveries_, &Delivery::is_trying) >=
           static_cast<std::ptrdiff_t>(kRequestsMax);
  }

  /// True: it is not tried again.
  bool fail(Delivery& delivery, const std::string& problem, bool is_final) {
    delivery.post.reset();
    delivery.lookup.forget();
    ++delivery.tries;
    if (is_final || delivery.tries == patience_.tries_max) return end(delivery, problem);
    const auto pause = patience_.pause * (1U << std::min(delivery.tries - 1, 20U));
    delivery.next = Steady::now() + std::min<Milliseconds>(pause, patience_.pause_max);
    return false;
  }

  bool end(const Delivery& delivery, const std::string& problem) {
    const std::lock_guard guard(shared_.mutex);
    shared_.results.push_back({.place = delivery.message.place,
                               .is_firing = delivery.message.is_firing,
                               .tries = delivery.tries,
                               .problem = problem});
    return true;
  }

  Shared& shared_;
  const std::vector<AlertOptions> receivers_;
  const Patience patience_;
  /// Shared with requests.
  const std::shared_ptr<const TlsContext> tls_{new TlsContext(TlsContext::client())};
  std::list<Delivery> deliveries_;
};

AlertSender::AlertSender(std::vector<AlertOptions> receivers, Patience patience)
    // Shared with the thread.
    : shared_(std::make_shared<Shared>()) {
  try {
    shared_->poller.emplace();
    shared_->is_running = true;
    std::thread([shared = shared_, receivers = std::move(receivers), patience]() mutable {
      pthread_setname_np(pthread_self(), "alerts");
      std::optional<Work> work(std::in_place, *shared, std::move(receivers), patience);
      work->run();
      work.reset();
      const std::lock_guard guard(shared->mutex);
      shared->is_running = false;
      shared->has_ended.notify_all();
    }).detach();
  } catch (const std::system_error&) {
    shared_->is_running = false;  // `hand_over` says so
  }
}

AlertSender::~AlertSender() {
  std::unique_lock lock(shared_->mutex);
  shared_->is_over = true;
  if (shared_->poller) shared_->poller->wake();
  shared_->has_ended.wait_for(lock, kEndMax, [this] { return !shared_->is_running; });
}

void AlertSender::hand_over(http::AlertMessage message) {
  const std::lock_guard guard(shared_->mutex);
  if (shared_->is_running) {
    shared_->messages.push_back(std::move(message));
    return shared_->poller->wake();
  }
  shared_->results.push_back({.place = message.place,
                              .is_firing = message.is_firing,
                              .problem = "there is no room for a thread"});
}

std::vector<http::AlertResult> AlertSender::take() {
  const std::lock_guard guard(shared_->mutex);
  return std::exchange(shared_->results, {});
}

}  // namespace millrace::server
