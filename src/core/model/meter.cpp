#include "core/model/meter.hpp"

#include <algorithm>

namespace millrace {

void Histogram::add(Duration took) {
  // The clock may have been set back in between.
  const Duration length = std::max(took, Duration{});
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), length);
  ++bin(static_cast<std::size_t>(bound - kBounds.begin()));
  ++count_;
  sum_ += length;
  longest_ = std::max(longest_, length);
}

void Histogram::add(const Histogram& other) {
  for (std::size_t i = 0; i < other.counts_.size(); ++i) bin(other.first_ + i) += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  longest_ = std::max(longest_, other.longest_);
}

Histogram Histogram::since(const Histogram& before) const {
  if (count_ < before.count_) return *this;
  Histogram after;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const std::uint64_t earlier = before.count_in(first_ + i);
    if (counts_[i] <= earlier) continue;
    after.bin(first_ + i) = counts_[i] - earlier;
    after.count_ += counts_[i] - earlier;
  }
  after.sum_ = sum_ - before.sum_;
  after.longest_ = longest_;
  return after;
}

std::uint64_t Histogram::count_in(std::size_t i) const {
  return i < first_ || i - first_ >= counts_.size() ? 0 : counts_[i - first_];
}

std::uint64_t& Histogram::bin(std::size_t i) {
  if (counts_.empty()) first_ = i;
  if (i < first_) {
    counts_.insert(counts_.begin(), first_ - i, 0);
    first_ = i;
  }
  if (i - first_ >= counts_.size()) counts_.resize(i - first_ + 1);
  return counts_[i - first_];
}

std::optional<Duration> Histogram::quantile(double part) const {
  if (count_ == 0) return std::nullopt;
  const double wanted = part * static_cast<double>(count_);
  std::uint64_t reached = 0;
  std::size_t i = first_;
  for (const std::uint64_t here : counts_) {
    reached += here;
    if (here > 0 && static_cast<double>(reached) >= wanted) break;
    ++i;
  }
  if (i >= kBounds.size()) return longest_;
  const Duration lower = i == 0 ? Duration{} : kBounds[i - 1];
  return std::min(longest_, (lower + kBounds[i]) / 2);
}

std::int64_t Rate::window_of(Time now) {
  return now.time_since_epoch() / kWindow;
}

void Rate::add(Time now) {
  const std::int64_t window = window_of(now);
  if (window != window_) {
    // After a pause of a whole window, the older one is empty.
    previous_ = window == window_ + 1 ? current_ : 0;
    current_ = 0;
    window_ = window;
  }
  ++current_;
}

void Rate::add(const Rate& other) {
  const std::int64_t window = std::max(window_, other.window_);
  const auto current = [window](const Rate& rate) {
    return rate.window_ == window ? rate.current_ : 0;
  };
  const auto previous = [window](const Rate& rate) {
    if (rate.window_ == window) return rate.previous_;
    return rate.window_ + 1 == window ? rate.current_ : 0;
  };
  previous_ = previous(*this) + previous(other);
  current_ = current(*this) + current(other);
  window_ = window;
}

double Rate::per_second(Time now) const {
  const std::int64_t passed = window_of(now) - window_;
  // Nothing for a whole window.
  if (passed > 1) return 0;
  const auto seconds = [](Duration length) {
    return std::chrono::duration<double>(length).count();
  };
  // Before the last event: as at the begin of its window.
  const Duration into_window = passed < 0 ? Duration{} : now.time_since_epoch() % kWindow;
  const double part = seconds(into_window) / seconds(kWindow);
  // Reading changes nothing, so a window that has begun without an event is allowed for here.
  const double older = passed <= 0 ? previous_ : current_;
  const double newer = passed <= 0 ? current_ : 0;
  return (older * (1 - part) + newer) / seconds(kWindow);
}

}  // namespace millrace
