#include "server/turn/ticker.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace millrace::server {

void Ticker::plan(Deadline& deadline, Time at) {
  if (deadline.at_ == at) return;
  if (deadline.at_ != kNever) CHECK(deadlines_.erase({deadline.at_, &deadline}) == 1);
  if (at != kNever) CHECK(deadlines_.insert({at, &deadline}).second);
  deadline.at_ = at;
  // What was planned for earlier may have been taken away: the turn that then comes for nothing
  // costs less than looking.
  next_ = std::min(next_, at);
}

void Ticker::work(Time now, Scope scope) {
  expire_deadlines(now);
  next_ = std::min(scope == Scope::kAll ? broker_.tick(now) : kNever, next_deadline());
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

}  // namespace millrace::server
