#include "journal/writer/space_watch.hpp"

namespace millrace::journal {

Outcome<bool> SpaceWatch::begin() {
  const Outcome<bool> is_whole = log_.reserve().take(options_.segment_bytes);
  if (!is_whole) return is_whole.error();
  if (!*is_whole) {
    const Outcome<Done> regained = log_.reserve().regain();
    if (!regained) return regained.error();
  }
  publish_rooms();
  return !*is_whole;
}

/// The numbers are looked at once, when it became full.
void SpaceWatch::note_full(Time now, std::string problem) {
  if (const std::string lack = status_.is_full() ? "" : lack_of_room(); !lack.empty()) {
    problem += (problem.empty() ? "" : "; ") + lack;
  }
  set(true, now, std::move(problem));
}

Outcome<Done> SpaceWatch::look(Time now) {
  const Outcome<Done> regained = log_.reserve().regain();
  if (!regained) return regained;
  publish_rooms();
  // In each round, since a backup may begin at any time.
  const Outcome<bool> is_shared = log_.is_oldest_shared();
  if (!is_shared) return is_shared.error();
  status_.set_oldest_shared(*is_shared);
  if (now < next_look_) return Done{};
  next_look_ = now + options_.look_interval;
  const Outcome<bool> found = log_.reserve().take(options_.segment_bytes);
  if (!found) return found.error();
  if (*found) set(false, now);
  return Done{};
}

void SpaceWatch::set(bool is_full, Time now, std::string problem) {
  publish_rooms();
  if (status_.set_full(is_full, std::move(problem))) next_look_ = now + options_.look_interval;
}

void SpaceWatch::publish_rooms() {
  status_.set_log_bytes_max(log_.bytes_max());
  rooms_.tell(log_.rooms());
}

}  // namespace millrace::journal
