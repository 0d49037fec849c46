#include "faktory/session/sliced/bulk_push.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "faktory/job/pushed_job.hpp"
#include "faktory/session/line_buffer.hpp"
#include "faktory/session/reply.hpp"

namespace millrace::faktory {
namespace {

/// Nothing is pushed unless all of it is JSON: a client that is refused may send it again.
bool refuse(const Problem& problem, std::string& out) {
  reply::error(out, reply::refusal(RefusedJob{RefusedJob::Reason::kInvalidJson, problem.text}));
  return true;
}

}  // namespace

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
    return compactor_.add(std::string_view(piece).substr(std::exchange(verb_bytes_, 0)));
  }
  if (!is_checked_) {
    is_checked_ = true;
    return compactor_.finish();
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
  long_job_ = std::make_unique<LongJob>(Compactor::Root::kJobOfArray);
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
