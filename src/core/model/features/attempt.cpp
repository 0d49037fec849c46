#include "core/model/features/attempt.hpp"

#include <utility>

#include "base/text.hpp"

namespace millrace {
namespace {

/// Cuts the text to what is left, and takes it from that.
void take_room(std::string& text, std::size_t& left) {
  text.resize(cut(text, left).size());
  left -= text.size();
}

}  // namespace

void Attempts::add(Attempt attempt, const Failure* failure) {
  if (!list.empty() && attempt.number <= list.back().number) {
    if (attempt.end == AttemptEnd::kEndedLate) end_late(attempt.number);
    return;
  }
  if (attempt.has_failure && failure != nullptr) {
    const auto told = std::find_if(list.rbegin(), list.rend(),
                                   [](const Attempt& known) { return known.has_failure; });
    if (told != list.rend()) {
      told->has_failure = false;
      told->errtype = failure->errtype;
      told->message = failure->message;
      told->backtrace = failure->backtrace;
    }
  }
  list.push_back(std::move(attempt));
  bound();
}

/// All workers keep their names, since a late report of a run is known by them. Of the rest, the
/// newest have their texts, and types and messages come before backtraces.
void Attempts::bound() {
  if (list.size() > kCountMax) {
    list.erase(list.begin(), list.end() - static_cast<std::ptrdiff_t>(kCountMax));
  }
  std::size_t left = kTextBytesMax;
  static_assert(kCountMax * kAttemptNameBytesMax <= kTextBytesMax);
  for (Attempt& attempt : list) {
    attempt.wid.resize(cut(attempt.wid, kAttemptNameBytesMax).size());
    left -= attempt.wid.size();
  }
  for (auto place = list.rbegin(); place != list.rend(); ++place) {
    Attempt& attempt = *place;
    attempt.hostname.resize(cut(attempt.hostname, std::min(kAttemptNameBytesMax, left)).size());
    left -= attempt.hostname.size();
    take_room(attempt.errtype, left);
    take_room(attempt.message, left);
  }
  std::size_t backtraces = 1;
  for (auto place = list.rbegin(); place != list.rend(); ++place) {
    Attempt& attempt = *place;
    if (attempt.backtrace.empty()) continue;
    if (++backtraces > kBacktracesMax) left = 0;
    auto line = attempt.backtrace.begin();
    while (line != attempt.backtrace.end() && line->size() < left) {
      left -= line->size() + 1;
      ++line;
    }
    attempt.backtrace.erase(line, attempt.backtrace.end());
    attempt.backtrace.shrink_to_fit();
  }
}

std::size_t Attempts::lost_in_a_row() const {
  const auto other = std::find_if(list.rbegin(), list.rend(), [](const Attempt& attempt) {
    // The one with a failure was the death of the job, and somebody has retried it since.
    const bool was_death = attempt.has_failure || !attempt.errtype.empty();
    return attempt.end != AttemptEnd::kWorkerLost || was_death;
  });
  return static_cast<std::size_t>(other - list.rbegin());
}

void Attempts::end_late(std::uint32_t number) {
  for (Attempt& attempt : list) {
    const bool is_lost = attempt.number == number && attempt.end == AttemptEnd::kWorkerLost;
    if (is_lost) attempt.end = AttemptEnd::kEndedLate;
  }
}

const Attempt* Attempts::find_taken(std::string_view wid) const {
  const std::string_view known = wid.substr(0, kAttemptNameBytesMax);
  const auto found = std::find_if(list.rbegin(), list.rend(), [known](const Attempt& attempt) {
    const bool was_taken = attempt.end == AttemptEnd::kWorkerLost ||
                           attempt.end == AttemptEnd::kEndedLate ||
                           attempt.end == AttemptEnd::kExpired;
    return was_taken && attempt.wid == known;
  });
  return found == list.rend() ? nullptr : &*found;
}

bool Attempts::was_last_taken_from(std::string_view wid) const {
  const Attempt* const taken = find_taken(wid);
  return taken != nullptr && taken == &list.back();
}

}  // namespace millrace
