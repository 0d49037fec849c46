#include "faktory/session/bulk_push.hpp"

#include <optional>
#include <utility>

#include "core/ports/session.hpp"
#include "faktory/job/pushed_job.hpp"
#include "faktory/json/text.hpp"
#include "faktory/session/reply.hpp"

namespace millrace::faktory {

BulkPush::BulkPush(std::string_view json, Time started_at)
    : json_(json), started_at_(started_at), cutter_(json_) {}

bool BulkPush::work(Shared& shared, Time now, std::string& out) {
  if (!is_read_) {
    const Outcome<Done> read = read_slice(shared);
    // One large job must not keep its memory in the parser for ever.
    shared.pusher.shrink();
    // Nothing is pushed unless all of it is JSON: a client that is refused may send it again.
    if (!read) {
      const RefusedJob refused{RefusedJob::Reason::kInvalidJson, read.error().text};
      reply::error(out, reply::refusal(refused));
      return true;
    }
    if (!is_read_) return false;
  }
  push_slice(shared, now);
  if (pushed_ < parts_.size()) return false;
  append_reply(out);
  return true;
}

Outcome<Done> BulkPush::read_slice(Shared& shared) {
  const WallClock clock = shared.broker.view().wall_clock();
  for (std::size_t bytes = 0; bytes < kBulkSliceBytes;) {
    const Outcome<std::optional<std::string_view>> element = cutter_.next();
    if (!element) return element.error();
    is_read_ = !element->has_value();
    if (is_read_) break;
    const Outcome<JobMembers> members = shared.pusher.read_element(**element);
    if (!members) return members.error();
    take(*members, clock);
    bytes += (*element)->size();
  }
  return Done{};
}

void BulkPush::take(const JobMembers& members, WallClock clock) {
  Part part;
  const Result<NewJob, RefusedJob> job = make_pushed_job(members, started_at_, clock, part.body);
  if (!job) {
    // By jid, as the reference answers. A job without one is under the empty name.
    refused_[std::string(members.jid)] = reply::refusal(job.error());
    return;
  }
  part.jid = members.jid;
  // Copies, since the views of `job` end with this slice.
  part.queue = job->queue;
  part.job = *job;
  parts_.push_back(std::move(part));
}

void BulkPush::push_slice(Shared& shared, Time now) {
  for (std::size_t i = 0; i < kSliceJobs && pushed_ < parts_.size(); ++i, ++pushed_) {
    // The records so far go to the journal first, so that no batch grows without a limit.
    if (shared.broker.ledger().batch_bytes() >= kBatchBytesPause) return;
    Part& part = parts_[pushed_];
    part.job.queue = part.queue;
    part.job.body = part.body;
    if (const auto id = shared.pusher.put(part.job, now); !id) {
      refused_[part.jid] = reply::refusal(id.error());
    }
    part = Part{};  // Its memory is freed during the work, not after it.
  }
}

void BulkPush::append_reply(std::string& out) const {
  std::string object;
  const char* separator = "";
  for (const auto& [jid, text] : refused_) {
    object += std::exchange(separator, ",");
    append_json_string(jid, object);
    object += ':';
    append_json_string(text, object);
  }
  reply::bulk(out, '{' + object + '}');
}

}  // namespace millrace::faktory
