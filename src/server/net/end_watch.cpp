#include "server/net/end_watch.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace millrace::server {

EndWatch::EndWatch() : set_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!set_.is_open()) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

bool EndWatch::add(int descriptor, IoThread& thread) {
  epoll_event event{};
  event.events = EPOLLRDHUP | EPOLLONESHOT;
  event.data.ptr = &thread;
  return ::epoll_ctl(set_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void EndWatch::remove(int descriptor) {
  (void)::epoll_ctl(set_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

std::vector<IoThread*> EndWatch::take() {
  std::vector<IoThread*> threads;
  std::array<epoll_event, 64> events;
  int count = 0;
  do {
    count = ::epoll_wait(set_.get(), events.data(), events.size(), 0);
    for (int i = 0; i < count; ++i) {
      auto* const thread = static_cast<IoThread*>(events[i].data.ptr);
      if (std::find(threads.begin(), threads.end(), thread) == threads.end()) {
        threads.push_back(thread);
      }
    }
  } while (count == static_cast<int>(events.size()));
  return threads;
}

}  // namespace millrace::server
