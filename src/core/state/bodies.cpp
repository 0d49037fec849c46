#include "core/state/bodies.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

namespace millrace {
namespace {

/// Bodies that were read back may take one part in so many of the limit.
constexpr std::size_t kLoadedShare = 4;

/// The bits of a body's length.
constexpr std::uint32_t kBodyBytesMask = 0x7fffffff;
static_assert(kBodyBytesMax <= kBodyBytesMask);

std::unique_ptr<char[]> copy_of(std::string_view body) {
  // An empty body has no allocation, and is never spilled.
  if (body.empty()) return nullptr;
  // Not make_unique, which would fill the memory with zeros first.
  std::unique_ptr<char[]> copy(new char[body.size()]);
  std::memcpy(copy.get(), body.data(), body.size());
  return copy;
}

}  // namespace

void Bodies::spill_to(Journal& journal, std::size_t bytes_max) {
  journal_ = &journal;
  bytes_max_ = bytes_max;
}

void Bodies::keep(Job& job, std::string_view body) {
  CHECK(body.size() <= kBodyBytesMax);
  job.body_bytes = static_cast<std::uint32_t>(body.size()) & kBodyBytesMask;
  job.is_body_missing = 0;
  const bool fits = bytes_ + other_bytes_ + body.size() + kAllocationBytes <= bytes_max_;
  if (is_replaying_ && !fits && !body.empty()) {
    job.body.reset();
    ++spilled_count_;
    return;
  }
  const bool is_taken_over = taken_over_ && taken_over_.get() == body.data();
  job.body = is_taken_over ? std::move(taken_over_) : copy_of(body);
  if (job.body) bytes_ += body.size() + kAllocationBytes;
}

bool Bodies::is_too_much(std::size_t other_bytes) {
  other_bytes_ = other_bytes;
  return can_spill() && bytes_ + other_bytes > bytes_max_;
}

void Bodies::spill(const Job& job) {
  // A body whose batch has no place yet is nowhere else.
  if (!job.body || !job.log.place.is_in_log()) return;
  if (!pins_.empty()) leave_to_pin(job);
  job.body.reset();
  bytes_ -= job.body_bytes + kAllocationBytes;
  ++spilled_count_;
}

void Bodies::load(const Job& job, JobSlot slot) {
  if (!job.is_spilled() || job.is_body_missing != 0) return;
  const Outcome<std::string> body = journal_->read(job.body_at(), job.body_bytes);
  if (!body) {
    job.is_body_missing = 1;
    missing_.push_back(
        {.job = job.id, .why = body.error().text, .is_passing = body.error().is_passing});
    return;
  }
  ++read_count_;
  job.body = copy_of(*body);
  bytes_ += job.body_bytes + kAllocationBytes;
  --spilled_count_;
  // Remembered, to be given up again: otherwise reads through a backlog would fill the memory.
  loaded_.push_back({.slot = slot, .id = job.id, .bytes = job.body_bytes});
  loaded_bytes_ += job.body_bytes;
  const std::size_t loaded_bytes_max = std::min(kLoadedBytesMax, bytes_max_ / kLoadedShare);
  // The one just loaded stays, however long it is. It may be in the list twice: loaded before, and
  // spilled again for others.
  while (loaded_bytes_ > loaded_bytes_max && loaded_.size() > 1) {
    const Loaded oldest = loaded_.front();
    loaded_.pop_front();
    loaded_bytes_ -= oldest.bytes;
    const Job* const oldest_job = jobs_.find(oldest.slot);  // removed meanwhile, or its slot reused
    if (oldest.slot == slot || oldest_job == nullptr || oldest_job->id != oldest.id) continue;
    // There may be room by now, and then the next reader finds it.
    if (is_too_much(other_bytes_)) spill(*oldest_job);
  }
}

void Bodies::note_damage(const Job& job) {
  if (job.is_spilled()) damage_end_ = std::max(damage_end_, job.body_at() + job.body_bytes);
}

void Bodies::expect(const Job& job) {
  if (job.is_spilled()) journal_->expect(job.body_at(), job.body_bytes);
}

BodyPin Bodies::pin(const Job& job) {
  CHECK(job.body != nullptr);
  std::erase_if(pins_, [](const auto& pin) { return pin.expired(); });
  for (const auto& weak : pins_) {
    // Another thread may have dropped it just now.
    const auto pin = weak.lock();
    if (pin && pin->bytes_ == job.body.get()) return pin;
  }
  // Shared: see BodyPin.
  auto pin = std::make_shared<PinnedBody>(job);
  pins_.push_back(pin);
  return pin;
}

void Bodies::leave_to_pin(const Job& job) {
  for (const auto& weak : pins_) {
    const auto pin = weak.lock();
    if (!pin || pin->bytes_ != job.body.get()) continue;
    pin->owned_ = std::move(job.body);
    return;
  }
}

void Bodies::forget(const Job& job) {
  if (job.is_spilled()) {
    --spilled_count_;
  } else if (job.body) {
    bytes_ -= job.body_bytes + kAllocationBytes;
    if (!pins_.empty()) leave_to_pin(job);
  }
}

}  // namespace millrace
