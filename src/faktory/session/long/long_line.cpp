#include "faktory/session/long/long_line.hpp"

namespace millrace::faktory {

void LongLine::parse() {
  text_ = std::move(line_).join();
  Result<Command, Refused> command = parse_long_command(text_);
  if (command && std::holds_alternative<Push>(*command)) {
    Result<MadeJob, RefusedJob> job = make_job(std::get<Push>(*command).json);
    if (job) job->prepare();
    meaning_ = std::move(job);
  } else if (command && std::holds_alternative<PushBulk>(*command)) {
    JobReader reader;
    meaning_ = JobList::read(std::get<PushBulk>(*command).json, reader, terms_, worker_);
    text_ = std::string();
  } else {
    meaning_ = std::move(command);
  }
}

/// Memory that is not needed any more is given back as early as possible.
Result<MadeJob, RefusedJob> LongLine::make_job(std::string_view json) {
  JobReader reader;
  const Outcome<JobMembers> members = reader.read(json);
  text_ = std::string();
  if (!members) return RefusedJob{RefusedJob::Reason::kInvalidJson, members.error().text};
  return MadeJob::make(*members, terms_);
}

}  // namespace millrace::faktory
