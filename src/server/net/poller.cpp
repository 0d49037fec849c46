#include "server/net/poller.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/check.hpp"

namespace millrace::server {
namespace {

/// A wait ends after this, also where nothing happens: the system takes no time without an end.
constexpr Duration kWaitMax = 1h;

constexpr std::uint32_t kOver = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

int checked(int descriptor, const char* call) {
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), call);
  return descriptor;
}

SocketEvents read_events(std::uint32_t events) {
  const bool is_broken = (events & (EPOLLERR | EPOLLHUP)) != 0;
  const bool is_over = (events & kOver) != 0;
  return {.is_readable = is_over || (events & EPOLLIN) != 0,
          .is_writable = is_broken || (events & EPOLLOUT) != 0,
          .is_over = is_over,
          .is_broken = is_broken};
}

}  // namespace

Poller::Poller()
    : set_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      wake_(checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = nullptr;  // Nobody is to be told: it is enough that the wait ends.
  checked(::epoll_ctl(set_, EPOLL_CTL_ADD, wake_, &event), "epoll_ctl");
}

Poller::~Poller() {
  ::close(wake_);
  ::close(set_);
}

bool Poller::watch(int descriptor, Pollee& pollee, Trigger trigger) {
  epoll_event event{};
  event.events = trigger == Trigger::kOnce ? EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET : EPOLLIN;
  event.data.ptr = &pollee;
  return ::epoll_ctl(set_, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void Poller::forget(int descriptor, Pollee& pollee) {
  // Of one that never was in the set there is nothing to be taken out.
  (void)::epoll_ctl(set_, EPOLL_CTL_DEL, descriptor, nullptr);
  for (std::size_t i = 0; i < events_end_; ++i) {
    if (events_[i].data.ptr == &pollee) events_[i].data.ptr = nullptr;
  }
  queued_.remove(pollee);
  serving_.remove(pollee);
  unserved_.remove(pollee);
  pollee.is_queued_ = false;
}

void Poller::serve_again(Pollee& pollee) {
  if (!std::exchange(pollee.is_queued_, true)) queued_.add(pollee);
}

// ---- from other threads -------------------------------------------------------------------------

void Poller::post(std::function<void()> call) {
  {
    const std::lock_guard guard(mutex_);
    posted_.push_back(std::move(call));
  }
  wake();
}

void Poller::wake() {
  if (is_woken_.exchange(true)) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
}

void Poller::call_posted() {
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard guard(mutex_);
    calls.swap(posted_);
  }
  for (const std::function<void()>& call : calls) call();
}

// ---- a turn's share -----------------------------------------------------------------------------

void Poller::take(Duration longest) {
  wait(queued_.is_empty() ? longest : Duration{});
  // Before what is posted is looked at: what comes after that wakes the next wait.
  const bool is_woken = is_woken_.exchange(false);
  serving_.swap(queued_);
  served_ = events_end_ + serving_.size();
  // A client that has closed is gone for the commands of all others.
  serve_events(true);
  serve_events(false);
  events_end_ = 0;
  serve_queued();
  if (is_woken) call_posted();
}

void Poller::wait(Duration longest) {
  CHECK(events_end_ == 0 && serving_.is_empty());
  const Duration bounded = std::clamp(longest, Duration{}, kWaitMax);
  // Rounded up, so that what is due is due when the wait ends. epoll_pwait2 would wait to the
  // nanosecond, but kernels before 5.11 and older sandboxes refuse it.
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(bounded);
  const int count = ::epoll_wait(set_, events_.data(), static_cast<int>(events_.size()),
                                 static_cast<int>(milliseconds.count()));
  CHECK(count >= 0 || errno == EINTR);
  events_end_ = count < 0 ? 0 : static_cast<std::size_t>(count);
}

void Poller::serve_events(bool are_over) {
  for (std::size_t i = 0; i < events_end_; ++i) {
    if (((events_[i].events & kOver) != 0) != are_over) continue;
    auto* const pollee = static_cast<Pollee*>(events_[i].data.ptr);
    if (pollee != nullptr) pollee->on_events(read_events(events_[i].events));
  }
}

void Poller::serve_queued() {
  serving_.call_each([](Pollee& pollee) { pollee.is_queued_ = false; });
  serving_.call_each([this](Pollee& pollee) {
    if (pollee.on_served_again() || std::exchange(pollee.is_queued_, true)) return;
    unserved_.add(pollee);
  });
  serving_.clear();
  has_turned_away_ = !unserved_.is_empty();
  // Before those that have been served by now and want more.
  queued_.call_each([this](Pollee& pollee) { unserved_.add(pollee); });
  queued_.clear();
  queued_.swap(unserved_);
}

}  // namespace millrace::server
