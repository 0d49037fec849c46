#include "server/net/poller.hpp"

#include <algorithm>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <utility>

#include "base/check.hpp"

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

void Poller::serve(Pollee& pollee) {
  if (!std::exchange(pollee.is_ready_, true)) ready_.add(pollee);
}

void Poller::serve_first(Pollee& pollee) {
  if (std::exchange(pollee.is_ready_, true)) {
    first_.remove(pollee);
    ready_.remove(pollee);
  }
  first_.add(pollee);
}

void Poller::serve_again(Pollee& pollee) {
  if (!std::exchange(pollee.is_queued_, true)) queued_.add(pollee);
}

void Poller::serve_before_wait(Pollee& pollee) {
  if (!std::exchange(pollee.waits_, true)) before_wait_.add(pollee);
}

void Poller::forget(Pollee& pollee) {
  if (std::exchange(pollee.waits_, false)) before_wait_.remove(pollee);
  if (std::exchange(pollee.is_ready_, false)) {
    first_.remove(pollee);
    ready_.remove(pollee);
  }
  queued_.remove(pollee);
  serving_.remove(pollee);
  unserved_.remove(pollee);
  pollee.is_queued_ = false;
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
  served_ = first_.size() + ready_.size() + serving_.size();
  serve_all(first_);
  serve_all(ready_);
  serve_queued();
  if (is_woken) call_posted();
}

void Poller::wait(Duration longest) {
  CHECK(serving_.is_empty());
  before_wait_.call_each([](Pollee& pollee) {
    pollee.waits_ = false;
    pollee.on_wait();
  });
  before_wait_.clear();
  asio::io_context& context = waiting_->context;
  int handled = 0;
  if (longest > Duration{}) {
    waiting_->limit(longest);
    context.run_one();
    ++handled;
  }
  while (handled < kHandlersMax && context.poll_one() > 0) ++handled;
}

void Poller::serve_all(CallList<Pollee>& ready) {
  ready.call_each([](Pollee& pollee) {
    pollee.is_ready_ = false;
    pollee.on_ready();
  });
  ready.clear();
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
