#include "tools/import/import_target.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <random>

#include "core/state/totals.hpp"
#include "http/kit/text.hpp"
#include "journal/shared/cache_directory.hpp"
#include "journal/volatile/volatile_journal.hpp"
#include "server/foreign_jobs.hpp"
#include "tools/directory/places.hpp"

namespace millrace::tools {

/// What the journal has. Bodies are not kept in memory.
struct ImportTarget::Content {
  Content() { ledger->store().jobs().bodies().spill_to(*unread, 0); }

  /// Would be the source of bodies; nothing reads one.
  std::unique_ptr<journal::VolatileJournal> unread = std::make_unique<journal::VolatileJournal>();
  std::unique_ptr<Ledger> ledger = std::make_unique<Ledger>();

  [[nodiscard]] std::uint64_t jobs() const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < kJobStateCount; ++i) {
      count += ledger->store().jobs().orders().count(static_cast<JobState>(i));
    }
    return count;
  }
};

namespace {

std::uint64_t draw_word(std::random_device& device) {
  const std::uint64_t high = device();
  return high << 32 | device();
}

constexpr const char* kInstanceStart = ", process ";

/// As the mark has it.
std::string marked_source(const ImportTarget::Options& options) {
  return options.source + (options.instance.empty() ? "" : kInstanceStart + options.instance);
}

Outcome<Done> refuse_directory(journal::FileSystem& files, const std::string& directory) {
  if (auto kept = refuse_exported(directory); !kept) return kept;
  if (is_backup(directory)) return Problem{directory + " is a backup: name a new directory"};
  if (auto own = server::refuse_foreign_jobs(directory); !own) {
    return Problem{directory + " has jobs of another server: name a new directory"};
  }
  const auto content = journal::look_into(files, directory);
  if (!content) return content.error();
  switch (*content) {
    case journal::DirectoryContent::kNothing:
    case journal::DirectoryContent::kJournal:
      return Done{};
    case journal::DirectoryContent::kCache:
    case journal::DirectoryContent::kBrokenCache:
      return Problem{directory +
                     " is a cache of a shared log: import into a new directory, and move that to "
                     "an empty log with `millrace move-to-log`"};
    case journal::DirectoryContent::kMoved:
      break;
  }
  return Problem{"the jobs of " + directory + " were moved to a shared log"};
}

}  // namespace

RunCounts sum_of(RunCounts counts, std::uint64_t processed, std::uint64_t failed,
                 const std::vector<DayCounts>& days, std::int32_t today) {
  CountersChanged& total = counts.counters;
  total.processed += processed;
  total.failed += failed;
  if (days.empty()) return counts;
  if (total.day < today) {
    const DayCounts over{.day = total.day,
                         .processed = std::exchange(total.processed_today, 0),
                         .failed = std::exchange(total.failed_today, 0)};
    if (over.processed > 0) counts.days = merged(std::move(counts.days), over);
    total.day = today;
  }
  for (const DayCounts& day : days) {
    // A day of the other server's zone may have begun before it did in UTC.
    if (day.day >= total.day) {
      total.processed_today += day.processed;
      total.failed_today += day.failed;
    } else {
      counts.days = merged(std::move(counts.days), day);
    }
  }
  if (counts.days.size() > kHistoryDaysMax) {
    counts.days.erase(counts.days.begin(),
                      counts.days.end() - static_cast<std::ptrdiff_t>(kHistoryDaysMax));
  }
  return counts;
}

TargetState::TargetState(const Ledger& ledger, JobId first_id) {
  const Store& store = ledger.store();
  const Jobs& jobs = store.jobs();
  for (JobSlot slot = 0; slot < jobs.slot_end(); ++slot) {
    const Job* const job = jobs.in_slot(slot);
    if (job == nullptr || job->id >= first_id) continue;
    if (job->state == JobState::kDead) deaths_.insert(job->when);
    if (job->has_mark(job_marks::kHoldsLock) && job->features) {
      (void)take_lock(job->features->lock_key);
    }
  }
  lock_secret_ = store.lock_secret().get();
  for (const auto& [created, id] : store.queues().by_creation()) {
    const Queue& queue = store.queues().at(id);
    if (queue.paused_until == Time{}) continue;
    pauses_[queue.name] = {.until = queue.paused_until, .asked_s = queue.pause_s};
  }
  counts_ = {.counters = ledger.store().totals().now(), .days = ledger.store().days().list()};
}

Time TargetState::take_death(Time wanted) {
  while (!deaths_.insert(wanted).second) wanted += 1ns;
  return wanted;
}

LockSecretDrawn TargetState::draw_lock_secret() {
  std::random_device device;
  lock_secret_ = LockSecret{.low = draw_word(device), .high = draw_word(device)};
  return {.secret = *lock_secret_};
}

QueueChanged TargetState::kept_queue(std::string_view name, bool is_paused) const {
  QueueChanged record{.name = name, .is_kept = true};
  if (const auto pause = pauses_.find(name); pause != pauses_.end()) {
    record.paused_until = pause->second.until;
    record.pause_s = pause->second.asked_s;
  }
  if (is_paused) record.paused_until = kNever;
  return record;
}

ImportTarget::ImportTarget(journal::FileSystem& files, const Options& options)
    : files_(files), options_(options) {}

Outcome<std::unique_ptr<ImportTarget>> ImportTarget::open(journal::FileSystem& files,
                                                          const Options& options) {
  if (auto fit = refuse_directory(files, options.directory); !fit) return fit.error();
  std::unique_ptr<ImportTarget> target(new ImportTarget(files, options));
  if (auto begun = target->begin(); !begun) return begun.error();
  return target;
}

Outcome<Done> ImportTarget::begin() {
  journal::FileJournalOptions options;
  options.is_stepped = true;
  options.on_failure = [this](const Problem& problem) { failure_ = problem; };
  auto journal = journal::FileJournal::open(files_, options_.directory, std::move(options));
  if (!journal) return journal.error();
  journal_ = std::move(*journal);
  const auto mark = read_import_mark(files_, options_.directory);
  if (!mark) return mark.error();
  resumes_ = mark->has_value();
  if (resumes_) mark_ = **mark;
  const bool is_same = mark_.source == marked_source(options_) || is_same_process(mark_.source);
  has_new_instance_ =
      resumes_ && !is_same && mark_.source.starts_with(options_.source + kInstanceStart);
  if (resumes_ && !is_same && !has_new_instance_) {
    return Problem{"an import of " + mark_.source + " into " + options_.directory +
                   " has not ended: run that first"};
  }
  const auto content = read_content();
  return content ? prepare(*content) : content.error();
}

/// A process may have several addresses, such as 127.0.0.1 and localhost.
bool ImportTarget::is_same_process(const std::string& marked) const {
  const bool is_known = !options_.instance.empty() && options_.instance != kUnknownInstance;
  return is_known && marked.ends_with(kInstanceStart + options_.instance);
}

Outcome<ImportTarget::Content> ImportTarget::read_content() {
  Content content;
  const auto take = [&](std::string_view batch, Lsn begin) {
    return content.ledger->replay(batch, begin);
  };
  if (auto replayed = journal_->replay(take); !replayed) return replayed.error();
  return content;
}

Outcome<Done> ImportTarget::prepare(const Content& content) {
  const Ledger& ledger = *content.ledger;
  const std::uint64_t jobs = content.jobs();
  if (!resumes_ && jobs > 0 && !options_.merges) {
    return Problem{options_.directory + " has jobs already (" + std::to_string(jobs) +
                   "), perhaps of an import before; to add to them, use --merge"};
  }
  next_id_ = ledger.store().totals().now().next_id;
  state_ = TargetState(ledger, resumes_ ? mark_.first_id : next_id_);
  clock_.go_on_from(ledger.latest_time());
  last_death_ = ledger.latest_time();
  wall_ = clock_.look();
  interrupts_.emplace();
  return resumes_ && !has_new_instance_ ? go_on(ledger) : begin_anew();
}

Outcome<Done> ImportTarget::begin_anew() {
  mark_ = {.source = marked_source(options_),
           .first_id = next_id_,
           .counts = resumes_ ? mark_.counts : state_.counts()};
  return write_import_mark(files_, options_.directory, mark_);
}

Outcome<Done> ImportTarget::go_on(const Ledger& ledger) {
  const Jobs& left = ledger.store().jobs();
  for (JobSlot slot = 0; slot < left.slot_end(); ++slot) {
    const Job* const job = left.in_slot(slot);
    if (job == nullptr || job->id < mark_.first_id) continue;
    if (!options_.instance.empty()) {
      taken_.insert(job->id);
      continue;
    }
    if (auto added = add(JobRemoved{.id = job->id}); !added) return added;
  }
  return Done{};
}

Time ImportTarget::past(Time wall_time) {
  return std::min(wall_.steady(wall_time), clock_.now());
}

Time ImportTarget::draw_death() {
  last_death_ = std::max(clock_.now(), last_death_ + 1ns);
  return last_death_;
}

Outcome<Done> ImportTarget::append() {
  if (batch_.empty()) return Done{};
  (void)journal_->append(kOnlyEpoch, std::exchange(batch_, {}));
  progress_.show(jobs_added_);
  return journal_->pending_bytes() < kPendingBytesMax ? look_for_signals() : sync();
}

Outcome<Done> ImportTarget::look_for_signals() {
  if (!interrupts_->wait(0ms)) return Done{};
  return Problem{"interrupted after " + http::count_of(jobs_added_, "job") +
                 ": run the same command again"};
}

Outcome<Done> ImportTarget::sync() {
  if (!batch_.empty()) (void)journal_->append(kOnlyEpoch, std::exchange(batch_, {}));
  journal_->sync();
  if (failure_) return *failure_;
  if (journal_->pending_bytes() == 0) return look_for_signals();
  return Problem{"not enough disk space in " + options_.directory +
                 "; make room, and run it again"};
}

LockSecret ImportTarget::lock_secret() {
  if (const auto& drawn = state_.lock_secret()) return *drawn;
  const LockSecretDrawn drawn = state_.draw_lock_secret();
  // It comes before the first job with a lock. A failed disk is told by the next record.
  (void)add(drawn);
  return drawn.secret;
}

void ImportTarget::count_runs(std::uint64_t processed, std::uint64_t failed,
                              std::vector<DayCounts> days) {
  const Time wall = wall_.shown(clock_.now());
  const auto today = std::chrono::floor<std::chrono::days>(wall.time_since_epoch()).count();
  // What an import before, which was cut short, has counted does not count.
  const RunCounts& before = mark_.counts ? *mark_.counts : state_.counts();
  counts_ = sum_of(before, processed, failed, days, static_cast<std::int32_t>(today));
}

Outcome<Done> ImportTarget::finish(JobId next_id) {
  CountersChanged counters = counts_ ? counts_->counters : state_.counts().counters;
  counters.next_id = std::max(next_id_, next_id);
  if (counts_ && !counts_->days.empty()) {
    if (auto added = add(HistoryChanged{.days = counts_->days}); !added) return added;
  }
  if (auto added = add(counters); !added) return added;
  if (auto synced = sync(); !synced) return synced;
  return remove_import_mark(files_, options_.directory);
}

}  // namespace millrace::tools
