#include "tools/directory/check.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.hpp"
#include "core/broker/features/unreadable_bodies.hpp"
#include "core/state/ledger.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file/log_files.hpp"
#include "journal/file/log_format.hpp"
#include "journal/file/log_survey.hpp"
#include "journal/volatile/volatile_journal.hpp"
#include "tools/directory/marks.hpp"
#include "tools/directory/progress_line.hpp"

namespace millrace::tools {
namespace {

/// A running server may remove a segment during the check, and an undamaged journal then looks
/// damaged. So damage counts only if two tries find the same.
constexpr int kTriesMax = 10;

/// The state that the log describes. Jobs are kept in memory but their bodies are not, so a journal
/// may be larger than the memory.
struct Contents {
  Contents() { ledger.store().jobs().bodies().spill_to(unread, 0); }

  std::uint64_t bytes = 0;
  journal::VolatileJournal unread;  ///< would be the source of bodies; nothing reads one
  Ledger ledger;
};

using StateCounts = std::array<std::uint64_t, kJobStateCount>;

void append_line(std::string_view name, const std::string& value, std::string& out) {
  out.append(name).append(": ").append(value).append("\n");
}

std::string states_text(const StateCounts& counts) {
  std::string text;
  for (std::size_t i = 0; i < kJobStateCount; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(counts[i]) + " ";
    text += http::name_of(static_cast<JobState>(i));
  }
  return text;
}

StateCounts count_jobs(const Store& store) {
  StateCounts counts{};
  for (std::size_t i = 0; i < kJobStateCount; ++i)
    counts[i] = store.jobs().orders().count(static_cast<JobState>(i));
  return counts;
}

StateCounts count_jobs(const Queue& queue) {
  StateCounts counts{};
  const auto at = [&](JobState state) -> std::uint64_t& {
    return counts[static_cast<std::size_t>(state)];
  };
  at(JobState::kReady) = queue.ready.size();
  at(JobState::kReserved) = queue.reserved_count;
  at(JobState::kDead) = queue.dead.size();
  at(JobState::kScheduled) = queue.scheduled_count();
  at(JobState::kRetrying) = queue.retrying_count;
  return counts;
}

std::string segment_text(const journal::SegmentFinding& segment) {
  std::string text = "begins at " + std::to_string(segment.first) + ", ";
  if (segment.is_begun) return text + "only begun, no data";
  text += std::to_string(segment.bytes) + " bytes, " + std::to_string(segment.batches) +
          " writes, " + std::to_string(segment.records) + " records, ";
  if (segment.damaged_at) return text + "damaged at offset " + std::to_string(*segment.damaged_at);
  if (segment.torn_bytes == 0) return text + "whole";
  return text + "torn at offset " + std::to_string(segment.bytes);
}

/// Reports segments, records and the writes that they came in: batches of jobs are something else.
void append_log(const journal::Survey& found, const Contents& contents, std::string& out) {
  std::uint64_t batches = 0;
  std::uint64_t records = 0;
  for (const journal::SegmentFinding& segment : found.segments) {
    append_line("segment " + journal::segment_name(segment.first), segment_text(segment), out);
    batches += segment.batches;
    records += segment.records;
  }
  append_line("segments", std::to_string(found.segments.size()), out);
  append_line("writes", std::to_string(batches), out);
  append_line("records", std::to_string(records), out);
  append_line("bytes of records", std::to_string(contents.bytes), out);
  if (found.segments.empty()) return;
  const journal::SegmentFinding& last = found.segments.back();
  append_line("log ends at", std::to_string(last.first + last.bytes), out);
  // Where something is damaged, the next start is refused.
  const std::string_view what = found.damages.empty() ? " bytes, cut at the next start" : " bytes";
  append_line("torn tail",
              last.torn_bytes == 0 ? "none" : std::to_string(last.torn_bytes).append(what), out);
}

/// In the words of the server that found it, without what the job had died of before.
std::string unreadable_text(const Job& job, const Store& store) {
  std::string text = http::concat("job ", job.id, ", queue ", store.queues().at(job.queue).name);
  const Failure* const failure = job.failure();
  if (failure == nullptr || failure->errtype != kUnreadableErrtype) return text;
  return text + ": " + harmless(failure->message.substr(0, failure->message.find(kBeforeThat)));
}

std::vector<std::string> unreadable_jobs(const Store& store) {
  const Jobs& jobs = store.jobs();
  std::vector<JobId> ids;
  for (JobSlot slot = 0; slot < jobs.slot_end() && jobs.unreadable_count() > 0; ++slot) {
    const Job* const job = jobs.in_slot(slot);
    if (job != nullptr && job->has_mark(job_marks::kBodyUnreadable)) ids.push_back(job->id);
  }
  std::ranges::sort(ids);
  std::vector<std::string> lines;
  for (const JobId id : ids) {
    if (lines.size() == kUnreadableNamed) break;
    lines.push_back(unreadable_text(*jobs.find(id), store));
  }
  if (ids.size() <= lines.size()) return lines;
  lines.push_back("and " + http::grouped(ids.size() - lines.size()) + " more");
  return lines;
}

void append_jobs(const Store& store, const std::vector<std::string>& unreadable, std::string& out) {
  append_line("jobs", states_text(count_jobs(store)), out);
  if (const std::size_t lost = store.jobs().unreadable_count(); lost > 0) {
    append_line("warning",
                http::count_of(lost, "job") + " whose body could not be read: " + kUnreadableAdvice,
                out);
  }
  for (const std::string& line : unreadable) append_line("unreadable", line, out);
  for (const auto& [created, id] : store.queues().by_creation()) {
    const Queue& queue = store.queues().at(id);
    append_line("queue " + queue.name,
                states_text(count_jobs(queue)) + (queue.paused_until == kNever ? ", paused" : ""),
                out);
  }
}

std::string report(const std::string& directory, const journal::Survey& found,
                   const Contents& contents, const std::vector<std::string>& unreadable) {
  std::string out;
  append_log(found, contents, out);
  append_jobs(contents.ledger.store(), unreadable, out);
  const bool is_named =
      !found.damages.empty() && found.damages.front().file == journal::kExtentName;
  if (!found.has_extent && !is_named) {
    append_line("warning",
                "the file `extent` is missing or damaged, so missing segments at the beginning or "
                "end of the log cannot be detected; the next start writes it again",
                out);
  }
  if (auto ended = refuse_unfinished_import(directory); !ended) {
    append_line("warning", ended.error().text, out);
  }
  if (auto ended = refuse_unfinished_restore(directory); !ended) {
    append_line("warning", ended.error().text, out);
  }
  if (auto kept = refuse_exported(directory); !kept) append_line("warning", kept.error().text, out);
  if (found.mixed_at) {
    append_line("warning",
                "two servers wrote at the same time: " + journal::segment_name(*found.mixed_at) +
                    " was begun by one of them after the other had begun an earlier segment",
                out);
  }
  for (const journal::Damage& damage : found.damages) {
    append_line("damage", journal::text_of(damage), out);
  }
  if (found.damages.empty()) return out + "no damage\n";
  append_line("damages", std::to_string(found.damages.size()), out);
  return out;
}

Outcome<journal::Survey> read(journal::FileSystem& files, const std::string& directory,
                              Contents& contents) {
  const auto names = journal::names_in(files, directory);
  const std::vector<Lsn> segments = names ? names->segments : std::vector<Lsn>();
  const Lsn first = segments.empty() ? 0 : segments.front();
  // The last segment may be empty for the most part.
  ProgressLine progress("checked", segments.empty() ? 0 : segments.back() - first,
                        ProgressLine::Unit::kBytes);
  const auto take = [&](std::string_view batch, Lsn begin) -> Outcome<journal::BatchTaken> {
    journal::BatchTaken taken;
    const std::uint64_t before = contents.ledger.records_replayed();
    contents.bytes += batch.size();
    progress.show(begin - std::min(begin, first));
    const Outcome<Done> replayed = contents.ledger.replay(batch, begin);
    if (!replayed) taken.fault = replayed.error();
    taken.records = contents.ledger.records_replayed() - before;
    return taken;
  };
  return journal::survey(files, directory, journal::Purpose::kCheck, take);
}

}  // namespace

Outcome<JournalReport> check_journal(const std::string& directory) {
  journal::PosixFileSystem files;
  std::vector<journal::Damage> before;
  std::string problem_before;
  for (int tries = 1;; ++tries) {
    Contents contents;
    const auto found = read(files, directory, contents);
    if (!found) {
      const bool is_last = found.error().text == problem_before || tries == kTriesMax;
      if (is_last) return found.error();
      problem_before = found.error().text;
      continue;
    }
    JournalReport told;
    told.unreadable = unreadable_jobs(contents.ledger.store());
    told.text = report(directory, *found, contents, told.unreadable);
    if (found->damages.empty()) return told;
    told.damage = journal::refusal_of(directory, found->damages.front()).text;
    if (found->damages == before || tries == kTriesMax) return told;
    before = found->damages;
  }
}

}  // namespace millrace::tools
