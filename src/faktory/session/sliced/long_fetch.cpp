#include "faktory/session/sliced/long_fetch.hpp"

#include <utility>

#include "base/check.hpp"
#include "faktory/session/reply.hpp"

namespace millrace::faktory {

LongFetch::LongFetch(const Job& job, std::string_view queue, WallClock clock, BodyPin body)
    : body_(std::move(body)),
      wrapped_(job, queue, clock),
      unrendered_bytes_(body_->view().size()) {}

bool LongFetch::work(Shared&, Time, std::string& out) {
  if (!is_measured_) {
    is_measured_ = wrapped_.measure(body_->view());
    if (!is_measured_) return false;
    unrendered_bytes_ = wrapped_.size();
    reply::begin_bulk(out, unrendered_bytes_);
  }
  const std::size_t before = out.size();
  const bool is_whole = wrapped_.append_some(body_->view(), out);
  CHECK(out.size() - before <= unrendered_bytes_);
  unrendered_bytes_ -= out.size() - before;
  if (!is_whole) return false;
  // Else the client would take what follows for a part of the job.
  CHECK(unrendered_bytes_ == 0);
  reply::end_bulk(out);
  return true;
}

}  // namespace millrace::faktory
