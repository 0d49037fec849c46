#include "faktory/job/job_text.hpp"

#include <algorithm>
#include <memory>

namespace millrace::faktory {

void JobText::begin() {
  part_.clear();
  rest_ = LongText();
  wrapped_.reset();
  is_measured_ = is_over_ = false;
  taken_bytes_ = 0;
}

void JobText::show(const Job& job, const Queue& queue) {
  if (wrapped_) return;
  if (job.body_bytes <= WorkUnitFormat::kLongBodyBytes) {
    std::string whole;
    format_->render_whole(job, queue.name, clock_, whole);
    rest_ = LongText();
    rest_.add(whole);
  } else {
    // Owns nothing: the body stays where it is during this call.
    const TextOwner body(std::shared_ptr<const void>(), job.body.get());
    std::optional<LongText> text = format_->render_whole_long(job, queue.name, clock_, body);
    if (!text) {
      wrapped_.emplace(job, queue.name, clock_);
      return;
    }
    rest_ = std::move(*text);
  }
  rest_.drop(std::min(taken_bytes_, rest_.size()));
}

bool JobText::measure(const Job& job, Steps& steps) {
  while (!is_measured_ && !steps.are_used_up()) {
    is_measured_ = wrapped_->measure(job.body_view());
    steps.use_up(WrappedBody::kMeasuredBytes);
  }
  return is_measured_;
}

std::optional<std::string_view> JobText::next(const Job& job, Steps& steps) {
  part_.clear();
  if (wrapped_) {
    if (!measure(job, steps)) return std::nullopt;
    if (!is_over_) is_over_ = wrapped_->append_some(job.body_view(), part_);
    steps.use_up(part_.size());
  } else {
    rest_.take(kPartBytes, part_);
    taken_bytes_ += part_.size();
    steps.use_up(part_.size() / kCopiedBytesPerStep);
  }
  return part_;
}

}  // namespace millrace::faktory
