#include "core/model/meter.hpp"

#include <algorithm>

namespace millrace {

void Histogram::add(Duration took) {
  // The clock may have been set back in between.
  const Duration length = std::max(took, Duration{});
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), length);
  ++counts_[static_cast<std::size_t>(bound - kBounds.begin())];
  ++count_;
  sum_ += length;
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

double Rate::per_second(Time now) const {
  const std::int64_t passed = window_of(now) - window_;
  // Nothing for a whole window; or the clock was set back, and the windows mean nothing.
  if (passed > 1 || passed < 0) return 0;
  const auto seconds = [](Duration length) {
    return std::chrono::duration<double>(length).count();
  };
  const double part = seconds(now.time_since_epoch() % kWindow) / seconds(kWindow);
  // Reading changes nothing, so a window that has begun without an event is allowed for here.
  const double older = passed == 0 ? previous_ : current_;
  const double newer = passed == 0 ? current_ : 0;
  return (older * (1 - part) + newer) / seconds(kWindow);
}

}  // namespace millrace
