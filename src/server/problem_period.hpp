#pragma once

#include <string>

#include "server/process/logging.hpp"

namespace millrace::server {

/// Tells the log of a problem that goes on: at once, then once in a while, and when it is over.
class ProblemPeriod {
 public:
  /// The names of the events. After its end the problem is not told again before `gap`, nor before
  /// it would have been told without an end, whichever comes first. The names outlive it.
  struct Options {
    const char* begun;
    const char* over;
    Duration gap{};
  };

  explicit ProblemPeriod(Options options) : options_(options) {}

  /// `problem` is what it is now; empty: there is none. Its text may change while it goes on.
  void tell(const Log& log, const std::string& problem, Time now);

 private:
  const Options options_;
  Time not_before_ = Time::min();
  bool is_logged_ = false;
};

/// What goes on is told again after that.
inline constexpr Duration kProblemAgain = std::chrono::minutes(1);

}  // namespace millrace::server
