#include "server/web/web_port.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>
#include <utility>

#include "server/net/listener.hpp"
#include "server/net/peer.hpp"

namespace millrace::server {
WebPort::WebPort(BoundSocket socket, Parts parts)
    : bound_(std::move(socket)), parts_(std::move(parts)), tls_(parts_.tls) {}

WebPort::~WebPort() {
  if (wake_descriptor_ >= 0) ::close(wake_descriptor_);
}

Outcome<Done> WebPort::listen() {
  // Whom `poll` told of may be gone before he is accepted: the thread must not wait for the next.
  const int flags = ::fcntl(bound_.descriptor(), F_GETFL);
  ::fcntl(bound_.descriptor(), F_SETFL, flags | O_NONBLOCK);
  wake_descriptor_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wake_descriptor_ < 0 || ::listen(bound_.descriptor(), kBacklog) != 0) {
    return Problem{"cannot listen on " + bound_.address().text() + ": " + std::strerror(errno)};
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
  Visitors resting;
  while (!is_closing_) {
    std::vector<pollfd> watched;
    watched.push_back({.fd = wake_descriptor_, .events = POLLIN, .revents = 0});
    const auto now = WebStream::Steady::now();
    const auto room_at = has_room_at(resting);
    const bool has_room = room_at <= now;
    watched.push_back({.fd = has_room ? bound_.descriptor() : -1, .events = POLLIN, .revents = 0});
    auto next = now + std::chrono::seconds(1);
    if (!has_room) next = std::min(next, room_at);
    for (const Visitor& each : resting) {
      const short events = each.channel->has_output() ? POLLOUT : POLLIN;
      watched.push_back(
          {.fd = each.turn ? -1 : each.channel->socket(), .events = events, .revents = 0});
      next = std::min(next, each.until);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - WebStream::Steady::now());
    ::poll(watched.data(), watched.size(), std::max(0, static_cast<int>(left.count())));
    hand_over_ready(resting, watched);
    take_back(resting);
    if (watched[1].revents != 0) accept_all(resting);
  }
  bound_.remove_file();
}

/// More of an answer. False: there is no use in it any more.
bool WebPort::send_rest(Visitor& visitor) {
  if (!visitor.channel->flush()) return false;
  if (visitor.channel->has_output()) return true;
  if (visitor.is_leaving) visitor.channel->finish();
  visitor.until = WebStream::Steady::now() + (visitor.is_leaving ? kWebLeaveMax : kWebIdleMax);
  return true;
}

/// True when its request should have arrived by now.
bool WebPort::is_late(const Visitor& visitor, WebStream::Steady::time_point now) {
  return visitor.began && visitor.until <= now && !visitor.turn && !visitor.is_leaving &&
         !visitor.channel->has_output();
}

/// False: there is nobody to tell.
bool WebPort::say_late(Visitor& visitor) {
  const std::string answer = write_late_answer();
  if (visitor.channel->write(answer.data(), answer.size()) < 0) return false;
  visitor.is_leaving = true;
  visitor.until = WebStream::Steady::now() + kWebLeaveMax;
  if (!visitor.channel->has_output()) visitor.channel->finish();
  return true;
}

/// Of those that rest, whose places in `watched` are theirs plus two.
void WebPort::hand_over_ready(Visitors& resting, const std::vector<pollfd>& watched) {
  const auto now = WebStream::Steady::now();
  Visitors still_resting;
  for (std::size_t i = 0; i < resting.size(); ++i) {
    Visitor& each = resting[i];
    if (is_late(each, now)) {
      if (say_late(each)) {
        still_resting.push_back(std::move(each));
      } else {
        --channel_count_;
      }
      continue;
    }
    const bool was_sending = each.channel->has_output();
    const bool is_broken = was_sending && watched[i + 2].revents != 0 && !send_rest(each);
    // What came before the answer was through is known to nobody but the channel.
    const bool has_input = was_sending ? !each.channel->has_output() && each.channel->has_request()
                                       : watched[i + 2].revents != 0;
    const bool is_over =
        is_broken || each.until <= now ||
        (each.is_leaving && has_input && !was_sending && !each.channel->discard_input());
    if ((has_input && !each.is_leaving && !is_broken) || (each.turn && is_over)) {
      hand_over(std::move(each));
    } else if (is_over) {
      --channel_count_;
    } else {
      still_resting.push_back(std::move(each));
    }
  }
  resting = std::move(still_resting);
}

/// From when on it makes room for a newcomer. Who waits for an answer never does.
WebStream::Steady::time_point WebPort::goes_at(const Visitor& visitor) {
  if (visitor.channel->has_output()) return visitor.until - kWebRequestMax + kWebTakeGrace;
  if (visitor.turn || visitor.is_leaving) return WebStream::Steady::time_point::max();
  const auto grace = visitor.channel->awaits_body() ? kWebBodyGrace : kWebGrace;
  return visitor.began.value_or(visitor.until - kWebIdleMax) + grace;
}

/// Who makes room first. Of those that may go now, who was let in with a body goes last.
WebPort::Visitors::iterator WebPort::find_idle(Visitors& resting) {
  const auto now = WebStream::Steady::now();
  const auto rank = [now](const Visitor& visitor) {
    const auto at = goes_at(visitor);
    return std::tuple(std::max(at, now), visitor.channel->awaits_body(), at);
  };
  return std::min_element(
      resting.begin(), resting.end(),
      [&rank](const Visitor& a, const Visitor& b) { return rank(a) < rank(b); });
}

/// When there is room for a newcomer, as far as those that rest can tell.
WebStream::Steady::time_point WebPort::has_room_at(Visitors& resting) const {
  if (channel_count_ < kWebConnectionsMax) return WebStream::Steady::time_point::min();
  const auto idle = find_idle(resting);
  return idle == resting.end() ? WebStream::Steady::time_point::max() : goes_at(*idle);
}

void WebPort::accept_all(Visitors& resting) {
  std::shared_ptr<const TlsContext> tls;  // ours while we use it, though it may be exchanged
  {
    const std::lock_guard guard(mutex_);
    tls = tls_;
  }
  const bool is_encrypted = tls && bound_.family() != AF_UNIX;
  while (has_room_at(resting) <= WebStream::Steady::now()) {
    sockaddr_storage storage{};
    auto* const address = reinterpret_cast<sockaddr*>(&storage);
    socklen_t size = sizeof storage;
    const int descriptor = ::accept4(bound_.descriptor(), address, &size, SOCK_CLOEXEC);
    if (descriptor < 0) break;
    if (channel_count_ >= kWebConnectionsMax) {
      resting.erase(find_idle(resting));
      --channel_count_;
    }
    ++channel_count_;
    auto stream = is_encrypted ? std::make_unique<TlsStream>(*tls) : nullptr;
    resting.push_back({.channel = std::make_unique<WebStream>(descriptor, std::move(stream)),
                       .peer = peer_of(address),
                       .until = WebStream::Steady::now() + kWebIdleMax});
  }
}

void WebPort::take_back(Visitors& resting) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(wake_descriptor_, &count, sizeof count);
  const std::lock_guard guard(mutex_);
  for (Visitor& each : returned_) resting.push_back(std::move(each));
  returned_.clear();
}

void WebPort::hand_over(Visitor visitor) {
  const std::lock_guard guard(mutex_);
  ready_.push_back(std::move(visitor));
  has_work_.notify_one();
}

// ---- the threads that answer --------------------------------------------------------------------

void WebPort::work() {
  WebEngine engine(parts_.answers, parts_.body_bytes_max);
  while (std::optional<Visitor> visitor = next_visitor()) {
    attend(std::move(*visitor), engine);
  }
}

std::optional<WebPort::Visitor> WebPort::next_visitor() {
  std::unique_lock lock(mutex_);
  has_work_.wait(lock, [this] { return !ready_.empty() || is_closing_; });
  if (ready_.empty()) return std::nullopt;
  Visitor visitor = std::move(ready_.front());
  ready_.pop_front();
  return visitor;
}

void WebPort::attend(Visitor visitor, WebEngine& engine) {
  if (!visitor.turn && !visitor.channel->receive()) return settle(std::move(visitor), false);
  if (!visitor.channel->has_request()) {
    let_arrive(visitor);
    return settle(std::move(visitor), true);
  }
  const bool is_change = visitor.channel->is_asked_by("POST");
  if (is_change && !begin_change(visitor)) return;
  bool stays = true;
  if (must_wait(visitor)) {
    visitor.turn = logins_.wait(visitor.peer);
    if (visitor.turn) visitor.until = visitor.turn->at;
    stays = visitor.turn.has_value();
  } else {
    stays = serve(visitor, engine);
  }
  if (is_change) end_change();
  settle(std::move(visitor), stays);
}

/// False: too many wait for the disk already, and it waits for one of them.
bool WebPort::begin_change(Visitor& visitor) {
  const std::lock_guard guard(mutex_);
  if (changes_ < kWebChangesMax) {
    ++changes_;
    return true;
  }
  change_waiters_.push_back(std::move(visitor));
  return false;
}

void WebPort::end_change() {
  const std::lock_guard guard(mutex_);
  --changes_;
  if (change_waiters_.empty()) return;
  ready_.push_back(std::move(change_waiters_.front()));
  change_waiters_.pop_front();
  has_work_.notify_one();
}

void WebPort::let_arrive(Visitor& visitor) {
  if (!visitor.began) visitor.began = WebStream::Steady::now();
  visitor.until = *visitor.began;
  visitor.until += visitor.channel->awaits_body() ? kWebRequestMax : kWebHeadMax;
}

/// Asked by the thread that would look at the request: so of many that come at once from one place
/// no more than there are threads are looked at before it is known as a slow one.
bool WebPort::must_wait(Visitor& visitor) {
  if (visitor.turn) {
    logins_.leave(*visitor.turn);
    visitor.turn.reset();
    return false;
  }
  return !visitor.knows_password && logins_.is_slow(visitor.peer);
}

/// Away, or to the next request that is there, or back to the thread that watches.
void WebPort::settle(Visitor visitor, bool stays) {
  if (!stays || is_closing_) {
    visitor.channel.reset();
    if (channel_count_-- == kWebConnectionsMax) wake();
    return;
  }
  const bool can_go_on = !visitor.turn && !visitor.is_leaving && !visitor.channel->has_output();
  if (can_go_on && visitor.channel->has_request()) return hand_over(std::move(visitor));
  const std::lock_guard guard(mutex_);
  returned_.push_back(std::move(visitor));
  wake();
}

/// True when the connection stays: for another request, or until its other end knows that it ends.
bool WebPort::serve(Visitor& visitor, WebEngine& engine) {
  const WebEngine::Served served = engine.serve(*visitor.channel);
  if (served.login == http::Login::kWrong) logins_.note_failure(visitor.peer);
  if (served.login == http::Login::kRight) visitor.knows_password = true;
  if (served.is_arriving) {
    let_arrive(visitor);
    return true;
  }
  visitor.began.reset();
  const auto now = WebStream::Steady::now();
  const bool is_sending = visitor.channel->has_output();
  visitor.is_leaving = served.is_cut || (is_sending && !served.can_go_on);
  visitor.until = now + (is_sending ? kWebRequestMax : served.is_cut ? kWebLeaveMax : kWebIdleMax);
  if (served.is_cut && !is_sending) visitor.channel->finish();
  return served.can_go_on || visitor.is_leaving;
}

}  // namespace millrace::server
