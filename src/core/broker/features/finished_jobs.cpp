#include "core/broker/features/finished_jobs.hpp"

#include <algorithm>

namespace millrace {

void FinishedJobs::note(const Job& job, const Queue& queue, JobEnd how, Time now) {
  if (limits_.jobs_max == 0) return;
  const std::size_t place = place_of(++noted_);
  if (place == jobs_.size()) {
    jobs_.emplace_back();
    ids_.push_back(0);
    hashes_.push_back(0);
  }
  FinishedJob& entry = jobs_[place];
  entry.id = ids_[place] = job.id;
  entry.kind = job.kind;
  entry.how = how;
  entry.reserves = job.tallies().reserves;
  entry.created_at = job.created_at;
  entry.enqueued_at = job.enqueued_at;
  entry.ended_at = now;
  entry.queue = queue.name;
  const Reservation* const held = job.reservation();
  entry.client = held == nullptr ? 0 : held->client;
  entry.began_at = held == nullptr ? Time{} : held->reserved_at;
  entry.wid = held == nullptr ? std::string_view{} : held->wid;
  entry.name.clear();
  entry.jid.clear();
  hashes_[place] = 0;
  if (job.kind != JobKind::kWorkUnit) return;
  if (!job.is_spilled()) {
    const std::string_view name = format_.name_part(job.body_view());
    if (name.size() <= kNameBytesMax) entry.name = name;
    hashes_[place] = format_.name_hash(job.body_view());
  }
  if (!entry.name.empty() || held == nullptr) return;
  entry.jid = held->jid;
  if (!held->jid.empty()) hashes_[place] = format_.hash_of_name(held->jid);
}

void FinishedJobs::each_before(Number number, Time now, const Visitor& visit) const {
  if (jobs_.empty()) return;
  number = std::min(number, end());
  const Number oldest = noted_ - jobs_.size() + 1;
  while (number > oldest) {
    const FinishedJob& job = jobs_[place_of(--number)];
    // Those before it ended earlier still.
    if (!is_shown(job, now) || !visit(number, job)) return;
  }
}

const FinishedJob* FinishedJobs::find(JobId id, Time now) const {
  const auto found = std::find(ids_.begin(), ids_.end(), id);
  if (found == ids_.end()) return nullptr;
  const FinishedJob& job = jobs_[static_cast<std::size_t>(found - ids_.begin())];
  return is_shown(job, now) ? &job : nullptr;
}

void FinishedJobs::each_named(std::uint32_t hash, std::size_t limit, Time now,
                              const std::function<void(const FinishedJob&)>& visit) const {
  for (std::size_t back = 0; back < jobs_.size() && limit > 0; ++back) {
    const std::size_t place = place_of(noted_ - back);
    if (hashes_[place] != hash) continue;
    if (!is_shown(jobs_[place], now)) return;
    visit(jobs_[place]);
    --limit;
  }
}

}  // namespace millrace
