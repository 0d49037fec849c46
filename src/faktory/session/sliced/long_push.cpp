#include "faktory/session/sliced/long_push.hpp"

#include <utility>

#include "faktory/session/reply.hpp"

namespace millrace::faktory {

LongPush::LongPush(Rope&& line, PushStart start)
    : line_(std::move(line)), start_(std::move(start)) {}

bool LongPush::work(Shared& shared, Time now, std::string& out) {
  if (!is_read_) {
    const Result<Done, RefusedJob> read = read_slice(shared);
    if (!read) {
      reply::refused_job(out, read.error());
      return true;
    }
    return false;
  }
  if (!is_copied_) {
    is_copied_ = job_.copy_some();
    return false;
  }
  if (const auto id = shared.pusher.put(job_.job(), now, start_.worker); !id) {
    reply::refused_job(out, id.error());
  } else {
    reply::ok(out);
  }
  return true;
}

Result<Done, RefusedJob> LongPush::read_slice(Shared& shared) {
  const auto refused = [](const Problem& problem) {
    return RefusedJob{RefusedJob::Reason::kInvalidJson, problem.text};
  };
  if (line_.size() > 0) {
    const std::string piece = line_.take_front();
    const Outcome<Done> added =
        job_.add(std::string_view(piece).substr(std::exchange(verb_bytes_, 0)));
    if (!added) return refused(added.error());
    return Done{};
  }
  const Outcome<JobMembers> members = shared.pusher.read(job_);
  if (!members) return refused(members.error());
  const Result<Done, RefusedJob> made =
      job_.make(*members, start_.at, shared.broker.view().wall_clock(), shared.pusher.secret());
  shared.pusher.shrink();
  is_read_ = true;
  return made;
}

}  // namespace millrace::faktory
