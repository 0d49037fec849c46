#include "faktory/session/sliced/job_list.hpp"

#include <utility>

#include "core/ports/session.hpp"
#include "faktory/job/pushed_job.hpp"
#include "faktory/json/text.hpp"
#include "faktory/session/reply.hpp"

namespace millrace::faktory {
namespace {

/// A slice that renders ends with the refusal that takes it past this.
constexpr std::size_t kRenderedBytes = 64 * 1024;

std::size_t refusal_bytes(std::string_view jid, std::string_view text) {
  // What a node of a map takes besides, about.
  constexpr std::size_t kNodeBytes = 112;
  return kNodeBytes + jid.size() + text.size();
}

}  // namespace

void JobList::take(const JobMembers& members, const Shared& shared) {
  Part part;
  const Result<NewJob, RefusedJob> job = make_pushed_job(
      members, start_.at, shared.broker.view().wall_clock(), shared.pusher.secret(), part.body);
  if (!job) {
    return refuse(members.jid, reply::refusal(job.error()));
  }
  part.jid = members.jid;
  // Copies, since the views of `job` end with this slice.
  part.queue = job->queue;
  part.job = *job;
  add(std::move(part));
}

void JobList::take(const JobMembers& members, const Shared& shared, std::unique_ptr<LongJob> job) {
  const Result<Done, RefusedJob> made =
      job->make(members, start_.at, shared.broker.view().wall_clock(), shared.pusher.secret());
  if (!made) {
    return refuse(members.jid, reply::refusal(made.error()));
  }
  Part part;
  part.jid = members.jid;
  part.long_job = std::move(job);
  add(std::move(part));
}

void JobList::add(Part&& part) {
  part.counted_bytes = sizeof(Part) + part.jid.size() + part.queue.size() + part.body.size() +
                       (part.long_job ? part.long_job->kept_bytes() : 0);
  kept_bytes_ += part.counted_bytes;
  parts_.push_back(std::move(part));
}

/// By jid, as the reference answers. A job without one is under the empty name.
void JobList::refuse(std::string_view jid, std::string text) {
  std::string& refusal = refused_[std::string(jid)];
  if (!refusal.empty()) kept_bytes_ -= refusal_bytes(jid, refusal);
  kept_bytes_ += refusal_bytes(jid, text);
  refusal = std::move(text);
}

bool JobList::work(Shared& shared, Time now, std::string& out) {
  if (!parts_.empty()) push_slice(shared, now);
  if (!parts_.empty()) return false;
  if (!is_length_sent_) {
    render_slice();
    if (!refused_.empty()) return false;
    reply_.append(reply_.size() == 0 ? "{}" : "}");
    reply::begin_bulk(out, reply_.size());
    is_length_sent_ = true;
  }
  out += reply_.take_front();
  if (reply_.size() > 0) return false;
  reply::end_bulk(out);
  return true;
}

void JobList::push_slice(Shared& shared, Time now) {
  for (std::size_t i = 0; i < kSliceJobs && !parts_.empty(); ++i) {
    // The records so far go to the journal first, so that no batch grows without a limit.
    if (shared.broker.ledger().batch_bytes() >= kBatchBytesPause) return;
    if (!put(parts_.front(), shared, now)) return;
    kept_bytes_ -= parts_.front().counted_bytes;
    parts_.pop_front();  // Its memory is freed during the work, not after it.
  }
}

/// False: the job needs another slice before it can be put.
bool JobList::put(Part& part, Shared& shared, Time now) {
  if (part.long_job && !part.long_job->copy_some()) return false;
  part.job.queue = part.queue;
  part.job.body = part.body;
  const NewJob& job = part.long_job ? part.long_job->job() : part.job;
  if (const auto id = shared.pusher.put(job, now, start_.worker); !id) {
    refuse(part.jid, reply::refusal(id.error()));
  }
  return true;
}

void JobList::render_slice() {
  std::string text;
  while (text.size() < kRenderedBytes && !refused_.empty()) {
    const auto first = refused_.begin();
    text += reply_.size() == 0 && text.empty() ? '{' : ',';
    append_json_string(first->first, text);
    text += ':';
    append_json_string(first->second, text);
    kept_bytes_ -= refusal_bytes(first->first, first->second);
    refused_.erase(first);
  }
  reply_.append(text);
}

}  // namespace millrace::faktory
