#include "server/net/poller.hpp"

#include <algorithm>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <utility>

namespace millrace::server {
namespace {

using Steady = std::chrono::steady_clock;

/// How many handlers run in a `take`; the rest is for the next one.
constexpr int kHandlersMax = 256;

/// A wait ends after this, also where nothing happens.
constexpr Duration kWaitMax = 1h;

}  // namespace

struct Poller::Waiting {
  /// One thread works on its sockets; any may post.
  asio::io_context context{ASIO_CONCURRENCY_HINT_UNSAFE_IO};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  asio::steady_timer timer{context};
  Steady::time_point ends_at = Steady::time_point::max();  ///< when the timer wakes

  /// The next wait is over after that time, or earlier.
  void limit(Duration longest);
};

/// What is due next changes far less often than the loop waits: an earlier time stays set.
void Poller::Waiting::limit(Duration longest) {
  const auto end = Steady::now() + std::min(longest, kWaitMax);
  if (ends_at <= end) return;
  ends_at = end;
  timer.expires_at(end);
  timer.async_wait([this](const asio::error_code& error) {
    if (!error) ends_at = Steady::time_point::max();
  });
}

Poller::Poller() : waiting_(std::make_unique<Waiting>()) {}

Poller::~Poller() = default;

asio::io_context& Poller::context() {
  return waiting_->context;
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
  if (!is_woken_.exchange(true)) asio::post(waiting_->context, [] {});
}

void Poller::run_posted() {
  if (!std::exchange(was_woken_, false)) return;
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard guard(mutex_);
    calls.swap(posted_);
  }
  for (const std::function<void()>& call : calls) call();
}

// ---- the wait -----------------------------------------------------------------------------------

void Poller::take(Duration longest) {
  wait(longest);
  run_posted();
}

bool Poller::wait(Duration longest) {
  asio::io_context& context = waiting_->context;
  int handled = 0;
  if (longest > Duration{}) {
    waiting_->limit(longest);
    context.run_one();
    ++handled;
  }
  while (handled < kHandlersMax && context.poll_one() > 0) ++handled;
  // Before anybody looks for what another thread has: what comes after that wakes the next wait.
  was_woken_ = is_woken_.exchange(false) || was_woken_;
  return handled == kHandlersMax;
}

}  // namespace millrace::server
