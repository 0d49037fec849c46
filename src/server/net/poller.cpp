#include "server/net/poller.hpp"

#include <algorithm>
#include <asio/post.hpp>
#include <cerrno>
#include <system_error>
#include <utility>

namespace millrace::server {
namespace {

int make_set() {
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  if (set < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  return set;
}

SocketEvents read_events(std::uint32_t events) {
  const bool is_broken = (events & (EPOLLERR | EPOLLHUP)) != 0;
  const bool is_over = is_broken || (events & EPOLLRDHUP) != 0;
  return {.is_readable = is_over || (events & EPOLLIN) != 0,
          .is_writable = is_broken || (events & EPOLLOUT) != 0,
          .is_over = is_over,
          .is_broken = is_broken};
}

}  // namespace

Poller::Poller(Loop& loop) : loop_(loop), set_(loop, make_set()) {
  wait();
}

bool Poller::watch(int descriptor, Pollee& pollee) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &pollee;
  return ::epoll_ctl(set_.native_handle(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void Poller::forget(int descriptor, Pollee& pollee) {
  // Of one that never was in the set there is nothing to be taken out.
  (void)::epoll_ctl(set_.native_handle(), EPOLL_CTL_DEL, descriptor, nullptr);
  for (std::size_t i = 0; i < events_end_; ++i) {
    if (events_[i].data.ptr == &pollee) events_[i].data.ptr = nullptr;
  }
  std::replace(turns_.begin(), turns_.end(), &pollee, static_cast<Pollee*>(nullptr));
  std::replace(serving_.begin(), serving_.end(), &pollee, static_cast<Pollee*>(nullptr));
}

void Poller::give_turn(Pollee& pollee) {
  if (std::exchange(pollee.has_turn_, true)) return;
  if (turns_.empty()) asio::post(loop_, [this] { serve_turns(); });
  turns_.push_back(&pollee);
}

void Poller::wait() {
  set_.async_wait(asio::posix::descriptor_base::wait_read, [this](const asio::error_code& error) {
    if (error) return;
    serve_events();
    wait();  // for what there is already, too
  });
}

void Poller::serve_events() {
  const int count =
      ::epoll_wait(set_.native_handle(), events_.data(), static_cast<int>(events_.size()), 0);
  events_end_ = count < 0 ? 0 : static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < events_end_; ++i) {
    auto* const pollee = static_cast<Pollee*>(events_[i].data.ptr);
    if (pollee != nullptr) pollee->on_events(read_events(events_[i].events));
  }
  events_end_ = 0;
}

void Poller::serve_turns() {
  serving_.swap(turns_);
  for (Pollee* pollee : serving_) {
    if (pollee != nullptr) pollee->has_turn_ = false;
  }
  // By index and looked up each time: who goes is forgotten, here too.
  for (std::size_t i = 0; i < serving_.size(); ++i) {
    if (serving_[i] != nullptr) serving_[i]->on_turn();
  }
  serving_.clear();
}

}  // namespace millrace::server
