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

WorkUnitFormat::Name name_of(const FinishedJob& job, const WorkUnitFormat& format) {
  if (job.has_name) return format.read_name(job.name());
  if (job.kind == JobKind::kBytes) {
    return {.jid = concat("beanstalk-", job.id), .jobtype = "beanstalk"};
  }
  return {.jid = std::string(job.jid()), .jobtype = {}};
}

Json show_finished(const FinishedJob& job, const Site& site) {
  const WallClock clock = site.broker.view().wall_clock();
  const WorkUnitFormat::Name name = name_of(job, site.format);
  return {{"id", job.id},
          {"jid", name.jid},
          {"type", name.jobtype},
          {"is_pushed", job.kind == JobKind::kWorkUnit},
          {"queue", job.queue()},
          {"outcome", outcome_of(job.how)},
          {"created_at", show_time(job.created_at, clock)},
          {"enqueued_at", show_time(job.enqueued_at, clock)},
          {"began_at", show_time(job.began_at, clock)},
          {"ended_at", show_time(job.ended_at, clock)},
          {"wid", text_or_null(job.wid())},
          {"client", job.client == 0 ? Json(nullptr) : Json(job.client)},
          {"runs", job.reserves}};
}

}  // namespace millrace::http
