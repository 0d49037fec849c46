#include "server/clock_watch.hpp"

namespace millrace::server {

void ClockWatch::begin(Time latest) {
  parts_.clock.go_on_from(latest);
  look();
}

/// The broker's own work comes after all deadlines: what is due by the new time is done in the same
/// turn.
void ClockWatch::expire(Time) {
  look();
}

void ClockWatch::look() {
  const WallClock before = parts_.broker.view().wall_clock();
  const WallClock clock = parts_.clock.look();
  parts_.ticker.plan(*this, parts_.clock.next_look());
  if (clock == before) return;
  ++steps_;
  parts_.broker.set_wall_clock(clock);
  const Duration step = clock.ahead - before.ahead;
  parts_.log.event("clock_step", {{"seconds", seconds_text(std::chrono::abs(step))},
                                  {"direction", step > Duration{} ? "forward" : "back"}});
  if (parts_.on_step) parts_.on_step();
}

}  // namespace millrace::server
