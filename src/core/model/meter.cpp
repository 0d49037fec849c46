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

std::optional<Duration> Histogram::quantile(double part) const {
  return quantile_of(counts_, count_, part);
}

std::optional<Duration> quantile_of(const Histogram::Counts& counts, std::uint64_t count,
                                    double part) {
  constexpr auto& kBounds = Histogram::kBounds;
  if (count == 0) return std::nullopt;
  const double wanted = part * static_cast<double>(count);
  double before = 0;
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    const auto here = static_cast<double>(counts[i]);
    if (here > 0 && before + here >= wanted) {
      const Duration from = i == 0 ? Duration{} : kBounds[i - 1];
      const double share = (wanted - before) / here;
      return from + std::chrono::duration_cast<Duration>((kBounds[i] - from) * share);
    }
    before += here;
  }
  return kBounds.back();
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
