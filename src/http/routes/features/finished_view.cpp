#include "http/routes/features/finished_view.hpp"

#include <algorithm>
#include <array>

#include "http/kit/text.hpp"

namespace millrace::http {

std::string_view outcome_of(JobEnd how) {
  switch (how) {
    case JobEnd::kSucceeded:
      return "done";
    case JobEnd::kFailed:
      return "dropped";
    case JobEnd::kExpired:
      return "expired";
    case JobEnd::kGone:
    case JobEnd::kFlushed:
      break;
  }
  return "deleted";
}

bool is_outcome(std::string_view name) {
  constexpr std::array kEnds = {JobEnd::kSucceeded, JobEnd::kFailed, JobEnd::kExpired,
                                JobEnd::kGone};
  return std::any_of(kEnds.begin(), kEnds.end(),
                     [&](JobEnd each) { return outcome_of(each) == name; });
}

Json show_finished(const FinishedJob& job, const Site& site) {
  const WallClock clock = site.broker.view().wall_clock();
  const auto time_or_null = [&](Time time) {
    return time == Time{} ? Json(nullptr) : show_time(time, clock);
  };
  const bool is_pushed = job.kind == JobKind::kWorkUnit;
  WorkUnitFormat::Name name{.jid = std::string(job.jid()), .jobtype = {}};
  if (job.has_name) name = site.format.read_name(job.name());
  if (!is_pushed) name = {.jid = concat("beanstalk-", job.id), .jobtype = "beanstalk"};
  return {{"id", job.id},
          {"jid", name.jid},
          {"type", name.jobtype},
          {"is_pushed", is_pushed},
          {"queue", job.queue()},
          {"outcome", outcome_of(job.how)},
          {"created_at", show_time(job.created_at, clock)},
          {"enqueued_at", time_or_null(job.enqueued_at)},
          {"began_at", time_or_null(job.began_at)},
          {"ended_at", show_time(job.ended_at, clock)},
          {"wid", text_or_null(job.wid())},
          {"client", job.client == 0 ? Json(nullptr) : Json(job.client)},
          {"runs", job.reserves}};
}

}  // namespace millrace::http
