#include "core/broker/features/finished_jobs.hpp"

#include <cstring>

namespace millrace {

void FinishedJobs::note(const Job& job, const Queue& queue, JobEnd how, Time now) {
  if (limits_.jobs_max == 0) return;
  const std::size_t place = place_of(++noted_);
  if (place / kChunk == chunks_.size()) chunks_.push_back(std::make_unique<Chunk>());
  Chunk& chunk = *chunks_[place / kChunk];
  chunk.ids[place % kChunk] = job.id;
  FinishedJob& entry = chunk.jobs[place % kChunk];
  const Reservation* const held = job.reservation();
  entry.id = job.id;
  entry.kind = job.kind;
  entry.how = how;
  entry.reserves = job.tallies().reserves;
  entry.client = held != nullptr ? held->client : 0;
  entry.created_at = job.created_at;
  entry.enqueued_at = job.enqueued_at;
  entry.began_at = held != nullptr ? held->reserved_at : Time{};
  entry.ended_at = now;
  write_texts(job, queue.name, entry);
}

void FinishedJobs::write_texts(const Job& job, std::string_view queue, FinishedJob& entry) const {
  const Reservation* const held = job.reservation();
  const std::string_view wid = held != nullptr ? std::string_view(held->wid) : std::string_view();
  std::string_view rest;
  entry.has_name = false;
  if (job.kind == JobKind::kWorkUnit) {
    if (!job.is_spilled()) rest = format_.name_part(job.body_view());
    entry.has_name = !rest.empty() && rest.size() <= kNameBytesMax;
    if (!entry.has_name) rest = held != nullptr ? std::string_view(held->jid) : std::string_view();
  }
  entry.queue_bytes = static_cast<std::uint32_t>(queue.size());
  entry.wid_bytes = static_cast<std::uint32_t>(wid.size());
  const std::size_t bytes = queue.size() + wid.size() + rest.size();
  entry.bytes = static_cast<std::uint32_t>(bytes);
  const bool is_long = bytes > entry.short_texts.size();
  entry.long_texts.resize(is_long ? bytes : 0);
  char* to = is_long ? entry.long_texts.data() : entry.short_texts.data();
  for (const std::string_view text : {queue, wid, rest}) {
    if (!text.empty()) std::memcpy(to, text.data(), text.size());
    to += text.size();
  }
}

void FinishedJobs::each_before(Number number, Time now, const Visitor& visit) const {
  number = std::min(number, end());
  const Number oldest = noted_ - size() + 1;
  while (number > oldest) {
    const FinishedJob& job = at(place_of(--number));
    // Those before it ended earlier still.
    if (!is_shown(job, now) || !visit(number, job)) return;
  }
}

std::size_t FinishedJobs::shown(Time now) const {
  Number first = noted_ - size() + 1;
  // Halved until it is found, since they are in the order of their ends.
  for (Number end = noted_ + 1; first < end;) {
    const Number middle = first + (end - first) / 2;
    if (is_shown(at(place_of(middle)), now)) {
      end = middle;
    } else {
      first = middle + 1;
    }
  }
  return noted_ + 1 - first;
}

const FinishedJob* FinishedJobs::find(JobId id, Time now) const {
  if (id == 0) return nullptr;
  for (const auto& chunk : chunks_) {
    const auto found = std::find(chunk->ids.begin(), chunk->ids.end(), id);
    if (found == chunk->ids.end()) continue;
    const FinishedJob& job = chunk->jobs[static_cast<std::size_t>(found - chunk->ids.begin())];
    return is_shown(job, now) ? &job : nullptr;
  }
  return nullptr;
}

std::uint32_t FinishedJobs::hash_of(const FinishedJob& job) const {
  if (job.has_name) return format_.hash_of_name(format_.read_name(job.name()).jid);
  return job.jid().empty() ? 0 : format_.hash_of_name(job.jid());
}

bool FinishedJobs::hash_some_names(Number number) const {
  hashed_ = std::max(hashed_, noted_ - size());
  number = std::min(number, noted_);
  for (std::size_t made = 0; hashed_ < number && made < kSliceJobs; ++made) {
    const std::size_t place = place_of(++hashed_);
    chunks_[place / kChunk]->hashes[place % kChunk] = hash_of(at(place));
  }
  return hashed_ >= number;
}

void FinishedJobs::each_named(std::uint32_t hash, std::size_t limit, Time now,
                              const std::function<void(const FinishedJob&)>& visit) const {
  while (!hash_some_names(noted_)) {
  }
  for (Number number = noted_; number > noted_ - size() && limit > 0; --number) {
    const std::size_t place = place_of(number);
    if (chunks_[place / kChunk]->hashes[place % kChunk] != hash) continue;
    if (!is_shown(at(place), now)) return;
    visit(at(place));
    --limit;
  }
}

}  // namespace millrace
