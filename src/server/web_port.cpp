#include "server/web_port.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "http/guard.hpp"
#include "http/text.hpp"
#include "server/listener.hpp"

namespace millrace::server {
namespace {

http::Request read_request(const httplib::Request& from) {
  http::Request request;
  request.method = from.method;
  request.path = from.path;
  for (const auto& [name, value] : from.headers) {
    request.headers.emplace(http::lower_case(name), value);
  }
  request.params.insert(from.params.begin(), from.params.end());
  request.prefix = http::clean_prefix(request.header("x-script-name"));
  if (!request.prefix.empty() && request.path.starts_with(request.prefix + "/")) {
    request.path.erase(0, request.prefix.size());
  }
  return request;
}

void fill_response(http::Response&& from, httplib::Response& to) {
  http::harden(from);
  to.status = from.status;
  for (const auto& [name, value] : from.headers) to.set_header(name, value);
  to.set_content(std::move(from.body), from.type);
}

}  // namespace

/// The library's parser and printer, without its sockets and threads.
class WebPort::Engine : public httplib::Server {
 public:
  Engine(const Answers& handler, std::size_t body_bytes_max) : handler_(handler) {
    set_payload_max_length(body_bytes_max);
    body_bytes_max_ = body_bytes_max;
    set_pre_routing_handler([this](const httplib::Request& from, httplib::Response& to) {
      return answer_head(from, to);
    });
    Post(".*", [this](const httplib::Request& from, httplib::Response& to) {
      http::Request request = read_request(from);
      request.body = from.body;
      fill_response(handler_.answer(request), to);
    });
    // What the library refuses by itself: too long, malformed.
    set_error_handler([](const httplib::Request&, httplib::Response& to) {
      if (to.body.empty() && to.status != 304) {
        fill_response(http::refuse(to.status, "the request cannot be read"), to);
      }
    });
  }

  /// True when the connection can be used for another request.
  bool serve(WebChannel& channel) {
    bool is_closed = false;
    const bool is_done = process_request(channel, false, is_closed, [&](const httplib::Request&) {
      channel.begin(WebChannel::Steady::now() + kWebRequestMax,
                    body_bytes_max_ + http::kHeaderBytesMax);
    });
    return is_done && !is_closed;
  }

 private:
  HandlerResponse answer_head(const httplib::Request& from, httplib::Response& to) {
    http::Request request = read_request(from);
    std::optional<http::Response> response = handler_.head(request);
    // The library would read a body of unknown length until the connection ends.
    const bool has_body =
        request.headers.contains("content-length") || request.headers.contains("transfer-encoding");
    if (!response && has_body && from.method == "POST") return HandlerResponse::Unhandled;
    if (!response) response = handler_.answer(request);
    // A body that is not read would be taken for the next request.
    if (has_body) to.set_header("Connection", "close");
    fill_response(std::move(*response), to);
    return HandlerResponse::Handled;
  }

  const Answers& handler_;
  std::size_t body_bytes_max_ = 0;
};

WebPort::WebPort(BoundSocket socket, Parts parts)
    : bound_(std::move(socket)),
      parts_(std::move(parts)),
      engine_(std::make_unique<Engine>(parts_.answers, parts_.body_bytes_max)),
      tls_(parts_.tls) {}

WebPort::~WebPort() {
  if (wake_descriptor_ >= 0) ::close(wake_descriptor_);
}

Outcome<Done> WebPort::listen() {
  // Whom `poll` told of may be gone before he is accepted: the thread must not wait for the next.
  const int flags = ::fcntl(bound_.descriptor(), F_GETFL);
  ::fcntl(bound_.descriptor(), F_SETFL, flags | O_NONBLOCK);
  wake_descriptor_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wake_descriptor_ < 0 || ::listen(bound_.descriptor(), kBacklog) != 0) {
    return Problem{"cannot listen on " + bound_.address().text()};
  }
  threads_.emplace_back([this] { watch(); });
  for (std::size_t i = 0; i < kWebThreads; ++i) threads_.emplace_back([this] { work(); });
  return Done{};
}

void WebPort::set_tls(std::shared_ptr<const TlsContext> tls) {  // shared as in Parts
  const std::lock_guard guard(mutex_);
  tls_ = std::move(tls);
}

void WebPort::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_descriptor_, &one, sizeof one);
}

void WebPort::close() {
  if (threads_.empty()) return;
  is_closing_ = true;
  wake();
  const std::lock_guard guard(mutex_);
  has_work_.notify_all();
}

void WebPort::join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

// ---- the thread that watches --------------------------------------------------------------------

void WebPort::watch() {
  std::vector<Idle> idle;
  while (!is_closing_) {
    std::vector<pollfd> watched;
    watched.push_back({.fd = wake_descriptor_, .events = POLLIN, .revents = 0});
    const bool has_room = channel_count_ < kWebChannelsMax;
    watched.push_back({.fd = has_room ? bound_.descriptor() : -1, .events = POLLIN, .revents = 0});
    for (const Idle& each : idle) {
      watched.push_back({.fd = each.channel->socket(), .events = POLLIN, .revents = 0});
    }
    constexpr int kLookMs = 1000;  // for those that are idle for too long
    ::poll(watched.data(), watched.size(), kLookMs);
    const auto now = WebChannel::Steady::now();
    std::vector<Idle> still_idle;
    for (std::size_t i = 0; i < idle.size(); ++i) {
      if (watched[i + 2].revents != 0) {
        hand_over(std::move(idle[i].channel));
      } else if (idle[i].until > now) {
        still_idle.push_back(std::move(idle[i]));
      } else {
        --channel_count_;
      }
    }
    idle = std::move(still_idle);
    take_back(idle);
    if (watched[1].revents != 0) accept_all(idle);
  }
  bound_.remove_file();
}

void WebPort::accept_all(std::vector<Idle>& idle) {
  std::shared_ptr<const TlsContext> tls;  // ours while we use it, though it may be exchanged
  {
    const std::lock_guard guard(mutex_);
    tls = tls_;
  }
  while (channel_count_ < kWebChannelsMax) {
    const int descriptor = ::accept4(bound_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor < 0) return;
    ++channel_count_;
    auto stream = tls ? std::make_unique<TlsStream>(*tls) : nullptr;
    idle.push_back({.channel = std::make_unique<WebChannel>(descriptor, std::move(stream)),
                    .until = WebChannel::Steady::now() + kWebIdleMax});
  }
}

void WebPort::take_back(std::vector<Idle>& idle) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(wake_descriptor_, &count, sizeof count);
  const std::lock_guard guard(mutex_);
  for (auto& channel : returned_) {
    idle.push_back(
        {.channel = std::move(channel), .until = WebChannel::Steady::now() + kWebIdleMax});
  }
  returned_.clear();
}

void WebPort::hand_over(std::unique_ptr<WebChannel> channel) {
  const std::lock_guard guard(mutex_);
  ready_.push_back(std::move(channel));
  has_work_.notify_one();
}

// ---- the threads that answer --------------------------------------------------------------------

void WebPort::work() {
  for (;;) {
    std::unique_ptr<WebChannel> channel;
    {
      std::unique_lock lock(mutex_);
      has_work_.wait(lock, [this] { return !ready_.empty() || is_closing_; });
      if (ready_.empty()) return;
      channel = std::move(ready_.front());
      ready_.pop_front();
    }
    if (!serve(*channel) || is_closing_) {
      channel.reset();
      if (channel_count_-- == kWebChannelsMax) wake();
      continue;
    }
    const std::lock_guard guard(mutex_);
    returned_.push_back(std::move(channel));
    wake();
  }
}

bool WebPort::serve(WebChannel& channel) {
  do {
    channel.begin(WebChannel::Steady::now() + kWebHeadMax, http::kHeaderBytesMax);
    if (!engine_->serve(channel)) return false;
  } while (channel.has_input() && !is_closing_);
  return true;
}

}  // namespace millrace::server
