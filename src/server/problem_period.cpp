#include "server/problem_period.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace millrace::server {

/// The texts of an engine change while its state does not, as with several hosts that are tried in
/// turn.
void ProblemPeriod::tell(const Log& log, const std::string& problem, Time now) {
  if (problem.empty()) {
    if (std::exchange(is_logged_, false)) log.event(options_.over);
    not_before_ = std::min(not_before_, now + options_.gap);
    return;
  }
  if (now < not_before_) return;
  not_before_ = now + kProblemAgain;
  is_logged_ = true;
  log.event(options_.begun, {{"problem", one_line(problem, kProblemBytesMax)}});
}

}  // namespace millrace::server
