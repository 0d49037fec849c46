#include "faktory/session/push_reader.hpp"

#include <optional>

#include "faktory/job/job_reader.hpp"
#include "faktory/session/command.hpp"

namespace millrace::faktory {

void PushReader::read(std::string_view bytes) {
  const std::uint64_t begin = std::exchange(read_bytes_, read_bytes_ + bytes.size());
  std::size_t at = 0;
  for (std::size_t end; (end = bytes.find('\n', at)) != std::string_view::npos; at = end + 1) {
    if (!std::exchange(is_in_line_, false)) {
      read_line(bytes.substr(at, end - at), begin + end + 1);
    }
  }
  is_in_line_ = is_in_line_ || at < bytes.size();
}

void PushReader::read_line(std::string_view line, std::uint64_t end) {
  if (made_->size() >= kPushesAheadMax || !line.starts_with("PUSH ")) return;
  if (line.ends_with('\r')) line.remove_suffix(1);
  const Result<Command, Refused> command = parse_command(line);
  const Push* const push = command ? std::get_if<Push>(&*command) : nullptr;
  if (push == nullptr) return;
  // Its buffers are larger than a connection should have for itself.
  thread_local JobReader reader;
  if (const Outcome<JobMembers> members = reader.read(push->json)) {
    if (std::optional<MadeJob> job = MadeJob::make_timeless(*members)) {
      made_->push_back({.line_end = end, .job = std::move(*job)});
    }
  }
  reader.shrink();
}

}  // namespace millrace::faktory
