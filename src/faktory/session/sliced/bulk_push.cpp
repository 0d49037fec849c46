#include "faktory/session/sliced/bulk_push.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/ports/session.hpp"
#include "faktory/job/pushed_job.hpp"
#include "faktory/json/text.hpp"
#include "faktory/session/line_buffer.hpp"
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

/// Nothing is pushed unless all of it is JSON: a client that is refused may send it again.
bool refuse(const Problem& problem, std::string& out) {
  reply::error(out, reply::refusal(RefusedJob{RefusedJob::Reason::kInvalidJson, problem.text}));
  return true;
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

// ---- in one piece -------------------------------------------------------------------------------

BulkPush::BulkPush(std::string_view json, PushStart start)
    : json_(json), cutter_(json_), jobs_(std::move(start)) {}

bool BulkPush::work(Shared& shared, Time now, std::string& out) {
  if (!is_read_) {
    const Outcome<Done> read = read_slice(shared);
    // One large job must not keep its memory in the parser for ever.
    shared.pusher.shrink();
    if (!read) return refuse(read.error(), out);
    if (!is_read_) return false;
  }
  return jobs_.work(shared, now, out);
}

Outcome<Done> BulkPush::read_slice(Shared& shared) {
  for (std::size_t bytes = 0; bytes < kBulkSliceBytes;) {
    const Outcome<std::optional<std::string_view>> element = cutter_.next();
    if (!element) return element.error();
    is_read_ = !element->has_value();
    if (is_read_) break;
    const Outcome<JobMembers> members = shared.pusher.read_element(**element);
    if (!members) return members.error();
    jobs_.take(*members, shared);
    bytes += std::max((*element)->size(), kLeastJobBytes);
  }
  return Done{};
}

// ---- in many ------------------------------------------------------------------------------------

LongBulkPush::LongBulkPush(Rope&& line, PushStart start)
    : line_(std::move(line)), verb_bytes_(kLongBulkPush.size()), jobs_(std::move(start)) {}

bool LongBulkPush::work(Shared& shared, Time now, std::string& out) {
  if (is_read_) return jobs_.work(shared, now, out);
  const Outcome<Done> read = read_slice(shared);
  if (!read) return refuse(read.error(), out);
  return false;
}

Outcome<Done> LongBulkPush::read_slice(Shared& shared) {
  if (line_.size() > 0) {
    const std::string piece = line_.take_front();
    return minifier_.add(std::string_view(piece).substr(std::exchange(verb_bytes_, 0)));
  }
  if (!is_checked_) {
    is_checked_ = true;
    return minifier_.finish();
  }
  if (piece_at_ == piece_.size()) {
    piece_ = json_.take_front();
    piece_at_ = 0;
    // `null` is an empty array, as in Go.
    is_read_ = piece_.empty() || (depth_ == 0 && piece_ == "null");
    if (is_read_) return Done{};
  }
  Outcome<Done> read = read_piece(shared);
  shared.pusher.shrink();
  return read;
}

Outcome<Done> LongBulkPush::read_piece(Shared& shared) {
  const std::string_view piece = piece_;
  std::size_t begin = piece_at_;
  std::size_t at = begin;
  for (std::size_t bytes = 0; at < piece.size() && bytes < kBulkSliceBytes; ++at) {
    const bool is_open = depth_ > 0;
    if (ends_job(piece[at])) {
      if (auto added = add_to_job(piece.substr(begin, at - begin)); !added) return added;
      if (auto ended = end_job(shared); !ended) return ended;
      bytes += std::max(at - begin, kLeastJobBytes);
      begin = at + 1;
    } else if (!is_open) {
      begin = at + 1;  // The bracket of the array.
    }
  }
  piece_at_ = at;
  return add_to_job(piece.substr(begin, at - begin));
}

/// Whether that is the comma or the bracket after a job. The array was checked.
bool LongBulkPush::ends_job(char c) {
  if (is_in_string_) {
    is_in_string_ = is_escaped_ || c != '"';
    is_escaped_ = !is_escaped_ && c == '\\';
    return false;
  }
  is_in_string_ = c == '"';
  if (c == '[' || c == '{') ++depth_;
  if (c == ']' || c == '}') --depth_;
  return depth_ == 0 || (depth_ == 1 && c == ',');
}

Outcome<Done> LongBulkPush::add_to_job(std::string_view json) {
  if (long_job_) return long_job_->add(json);
  job_ += json;
  if (job_.size() <= kLongLineBytes) return Done{};
  long_job_ = std::make_unique<LongJob>(Minifier::Root::kJobOfArray);
  return long_job_->add(std::exchange(job_, {}));
}

Outcome<Done> LongBulkPush::end_job(Shared& shared) {
  // Nothing is between the brackets of an empty array.
  if (!long_job_ && job_.empty()) return Done{};
  const Outcome<JobMembers> members =
      long_job_ ? shared.pusher.read(*long_job_) : shared.pusher.read_element(job_);
  if (!members) return members.error();
  if (long_job_) {
    jobs_.take(*members, shared, std::exchange(long_job_, nullptr));
  } else {
    jobs_.take(*members, shared);
    job_.clear();
  }
  return Done{};
}

}  // namespace millrace::faktory
