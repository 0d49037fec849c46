#include "server/net/signals.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "base/check.hpp"

namespace millrace::server {
namespace {

/// The end of the pipe that the handler writes to; -1: nobody wants to know.
std::atomic<int> pipe_end = -1;
static_assert(std::atomic<int>::is_always_lock_free, "a handler must not wait");

/// Runs in any thread, in the midst of anything: it may do little more than write(2).
void note(int number) {
  const int saved = errno;
  const auto byte = static_cast<char>(number);
  // With a full pipe the signal is lost. Thousands are then waiting to be told already.
  [[maybe_unused]] const ssize_t written = ::write(pipe_end.load(), &byte, 1);
  errno = saved;
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  // System calls of other threads, the journal's among them, go on as if nothing had happened.
  action.sa_flags = SA_RESTART;
  CHECK(::sigaction(number, &action, nullptr) == 0);
}

}  // namespace

Signals::Signals(std::vector<int> numbers) : numbers_(std::move(numbers)) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  arrived_ = ends[0];
  CHECK(pipe_end.exchange(ends[1]) == -1);
  for (const int number : numbers_) handle(number, note);
}

Signals::~Signals() {
  for (const int number : numbers_) handle(number, SIG_DFL);
  ::close(arrived_);
  ::close(pipe_end.exchange(-1));
}

std::vector<int> Signals::take() {
  std::array<char, 64> numbers{};
  const ssize_t count = ::read(arrived_, numbers.data(), numbers.size());
  if (count <= 0) return {};
  return {numbers.begin(), numbers.begin() + count};
}

SignalWatch::SignalWatch(Poller& poller, Signals& signals, std::function<void(int)> on_signal)
    : poller_(poller), signals_(signals), on_signal_(std::move(on_signal)) {
  if (!poller_.watch(signals_.descriptor(), *this, Poller::Trigger::kAlways)) {
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
}

SignalWatch::~SignalWatch() {
  poller_.forget(signals_.descriptor(), *this);
}

void SignalWatch::on_events(SocketEvents /*events*/) {
  for (const int number : signals_.take()) on_signal_(number);
}

}  // namespace millrace::server
