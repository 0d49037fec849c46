#include "server/turn/ticker.hpp"

#include <algorithm>

namespace millrace::server {
namespace {

/// The timer is set for no longer than this; waking up early costs nothing.
constexpr Duration kTimerMax = 1h;

}  // namespace

Ticker::Ticker(Loop& loop, Broker& broker, Clock& clock, std::function<void()> wake)
    : broker_(broker), clock_(clock), wake_(std::move(wake)), timer_(loop) {}

void Ticker::plan(Deadline& deadline, Time at) {
  if (deadline.at_ == at) return;
  if (deadline.at_ != kNever) deadlines_.erase({deadline.at_, &deadline});
  if (at != kNever) deadlines_.insert({at, &deadline});
  deadline.at_ = at;
  if (at >= next_) return;
  next_ = at;
  arm();
}

void Ticker::work(Time now, Jobs jobs) {
  expire_deadlines(now);
  next_ = std::min(jobs == Jobs::kMove ? broker_.tick(now) : kNever, next_deadline());
  if (next_ <= now) {
    wake_();
  } else {
    arm();
  }
}

void Ticker::expire_deadlines(Time now) {
  for (std::size_t i = 0; i < kSliceDeadlines; ++i) {
    if (next_deadline() > now) return;
    Deadline& deadline = *deadlines_.begin()->second;
    plan(deadline, kNever);
    deadline.expire(now);
  }
}

Time Ticker::next_deadline() const {
  return deadlines_.empty() ? kNever : deadlines_.begin()->first;
}

void Ticker::arm() {
  // A timer that rings too early is left alone: setting it costs more than an idle turn.
  if (next_ >= armed_for_) return;
  armed_for_ = next_;
  timer_.expires_after(std::min(next_ - clock_.now(), kTimerMax));
  timer_.async_wait([this](const asio::error_code& error) {
    if (error) return;
    armed_for_ = kNever;
    wake_();
  });
}

}  // namespace millrace::server
