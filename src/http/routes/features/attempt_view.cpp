#include "http/routes/features/attempt_view.hpp"

#include <string>
#include <vector>

#include "http/kit/text.hpp"

namespace millrace::http {
namespace {

const char* outcome_of(AttemptEnd end) {
  switch (end) {
    case AttemptEnd::kFailed:
      return "failed";
    case AttemptEnd::kExpired:
      return "expired";
    case AttemptEnd::kTimedOut:
      return "timed_out";
    case AttemptEnd::kWorkerLost:
      return "worker_lost";
    case AttemptEnd::kReleased:
      return "released";
    case AttemptEnd::kEndedLate:
      return "ended_late";
  }
  return "";
}

Json told_by(const std::string& type, const std::string& message,
             const std::vector<std::string>& backtrace) {
  if (type.empty() && message.empty() && backtrace.empty()) return nullptr;
  return {{"type", type}, {"message", message}, {"backtrace", backtrace}};
}

/// The job's failure has the texts of one of them.
Json told_by(const Attempt& attempt, const Failure* failure) {
  if (attempt.has_failure && failure != nullptr) {
    return told_by(failure->errtype, failure->message, failure->backtrace);
  }
  return told_by(attempt.errtype, attempt.message, attempt.backtrace);
}

Json show(const Attempt& attempt, const Failure* failure, WallClock clock) {
  const auto known = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
  };
  return {{"number", attempt.number},
          {"began_at", show_time(attempt.began, clock)},
          {"ended_at", show_time(attempt.ended, clock)},
          {"outcome", outcome_of(attempt.end)},
          {"wid", known(attempt.wid)},
          {"hostname", known(attempt.hostname)},
          {"pid", attempt.pid == 0 ? Json(nullptr) : Json(attempt.pid)},
          {"client", attempt.connection == 0 ? Json(nullptr) : Json(attempt.connection)},
          {"error", told_by(attempt, failure)}};
}

}  // namespace

Json show_attempts(const Job& job, const View& view) {
  Json shown = Json::array();
  const Attempts* const attempts = view.attempts_of(job);
  if (attempts == nullptr) return shown;
  for (const Attempt& attempt : attempts->list) {
    shown.push_back(show(attempt, job.failure(), view.wall_clock()));
  }
  return shown;
}

}  // namespace millrace::http
