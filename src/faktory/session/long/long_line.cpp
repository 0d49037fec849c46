#include "faktory/session/long/long_line.hpp"

namespace millrace::faktory {

void LongLine::parse() {
  text_ = std::move(line_).join(JobReader::kRoomBytes);
  Result<Command, Refused> command = parse_long_command(text_);
  if (command && std::holds_alternative<Push>(*command)) {
    meaning_ = make_job(std::get<Push>(*command).json);
  } else if (command && std::holds_alternative<PushBulk>(*command)) {
    JobReader reader;
    load(std::get<PushBulk>(*command).json, reader);
    meaning_ = JobList::read(reader, terms_, worker_);
  } else {
    meaning_ = std::move(command);
  }
}

/// The end of the text. The reader gets its memory.
void LongLine::load(std::string_view json, JobReader& reader) {
  text_.erase(0, text_.size() - json.size());
  reader.load_own(std::move(text_));
}

Result<MadeJob, RefusedJob> LongLine::make_job(std::string_view json) {
  const auto made = [&]() -> Result<MadeJob, RefusedJob> {
    JobReader reader;
    load(json, reader);
    const Outcome<JobMembers> members = reader.read();
    if (members) return MadeJob::make(*members, terms_);
    return RefusedJob{RefusedJob::Reason::kInvalidJson, members.error().text};
  };
  Result<MadeJob, RefusedJob> job = made();
  // Now that the reader's memory is free again.
  if (job) job->prepare();
  return job;
}

}  // namespace millrace::faktory
