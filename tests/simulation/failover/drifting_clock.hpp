#pragma once

#include <algorithm>

#include "core/model/types.hpp"

namespace millrace::simulation {

/// A server's clock, which runs a little too fast or too slow.
class DriftingClock {
 public:
  /// At `real` it shows `shown`. In a thousand seconds it gains so many.
  void set(Time real, Time shown, int gain_permille) {
    set_at_ = real;
    shown_ = shown;
    gain_permille_ = gain_permille;
    ahead_ = Duration{};
  }

  [[nodiscard]] Time wall(Time real) const {
    const Duration passed = real - set_at_;
    return shown_ + passed + passed / 1000 * gain_permille_;
  }

  /// What the server goes by, see `go_on_from`.
  [[nodiscard]] Time at(Time real) const { return wall(real) + ahead_; }
  [[nodiscard]] Duration ahead() const { return ahead_; }

  /// From now on the server goes by `latest`, if that is later.
  void go_on_from(Time latest, Time real) { ahead_ += std::max(Duration{}, latest - at(real)); }

  /// How much time passes until it shows that, or a little less.
  [[nodiscard]] Duration until(Time shown, Time real) const {
    const Duration left = shown - at(real);
    return left / (1000 + gain_permille_) * 1000;
  }

 private:
  Time set_at_{};
  Time shown_{};
  int gain_permille_ = 0;
  Duration ahead_{};
};

}  // namespace millrace::simulation
