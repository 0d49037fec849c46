#include "faktory/session/long/job_list.hpp"

#include "core/ports/session.hpp"
#include "faktory/json/text.hpp"
#include "faktory/session/reply.hpp"
#include "faktory/session/shared.hpp"

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

Outcome<std::unique_ptr<JobList>> JobList::read(JobReader& reader, const PushTerms& terms,
                                                const std::string& worker) {
  std::unique_ptr<JobList> list(new JobList(worker));
  const Outcome<Done> whole =
      reader.read_array([&](const JobMembers& members) { list->take(members, terms); });
  if (!whole) return whole.error();
  return list;
}

void JobList::take(const JobMembers& members, const PushTerms& terms) {
  Result<MadeJob, RefusedJob> job = MadeJob::make(members, terms);
  if (!job) return refuse(members.jid, reply::refusal(job.error()));
  job->prepare();
  parts_.push_back({.jid = std::string(members.jid), .job = std::move(*job)});
  kept_bytes_ += parts_.back().kept_bytes();
}

/// By jid, as the reference answers. A job without one is under the empty name.
void JobList::refuse(std::string_view jid, std::string text) {
  std::string& refusal = refused_[std::string(jid)];
  if (!refusal.empty()) kept_bytes_ -= refusal_bytes(jid, refusal);
  kept_bytes_ += refusal_bytes(jid, text);
  refusal = std::move(text);
}

bool JobList::work(Shared& shared, const access::Caller& caller, Time now) {
  if (!parts_.empty()) push_slice(shared, caller, now);
  if (!parts_.empty()) return false;
  render_slice();
  if (!refused_.empty()) return false;
  reply_.add(reply_.size() == 0 ? "{}" : "}");
  reply_ = reply::long_bulk(std::move(reply_));
  return true;
}

void JobList::push_slice(Shared& shared, const access::Caller& caller, Time now) {
  for (std::size_t i = 0; i < kSliceJobs && !parts_.empty(); ++i) {
    // The records so far go to the journal first, so that no batch grows without a limit.
    if (shared.broker.ledger().batch_bytes() >= kBatchBytesPause) return;
    Part& part = parts_.front();
    kept_bytes_ -= part.kept_bytes();
    if (const auto id = shared.pusher.put(part.job.job(), now, caller, worker_); !id) {
      refuse(part.jid, reply::refusal(id.error()));
      if (id.error().reason == RefusedJob::Reason::kNotAllowed) not_allowed_ = id.error().detail;
    }
    parts_.pop_front();  // Its memory is freed during the work, not after it.
  }
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
  LongText slice;  // A text by itself, so that nothing is copied when the reply grows.
  slice.add(text);
  reply_.add(std::move(slice));
}

}  // namespace millrace::faktory
