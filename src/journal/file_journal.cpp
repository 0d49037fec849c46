#include "journal/file_journal.hpp"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "journal/file/log_format.hpp"
#include "journal/file/log_starts.hpp"

namespace millrace::journal {
namespace {

/// Random for the system, so that nobody can guess one, and no two processes have the same.
std::uint64_t draw_number() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

void say_and_end(const Problem& problem) {
  std::fprintf(stderr, "millrace: journal failed: %s\n", problem.text.c_str());
  end_process();
}

FileJournalOptions with_defaults(FileJournalOptions options) {
  // Part of every frame's checksum: so no client can store bytes that look like a frame, and old
  // frames in reused room never pass for new ones.
  if (!options.salt) options.salt = draw_number();
  // Not the salt, which must stay secret: backups show this number.
  if (!options.start_id) options.start_id = draw_number();
  if (!options.on_failure) options.on_failure = say_and_end;
  return options;
}

}  // namespace

void end_process() {
  ::_exit(kExitJournalFailed);
}

Outcome<std::unique_ptr<FileJournal>> FileJournal::open(FileSystem& files,
                                                        const std::string& directory,
                                                        FileJournalOptions options) {
  const Outcome<Done> ensured = files.ensure_directory(directory);
  if (!ensured) return ensured.error();
  // The lock comes before the first look: another process may be changing the files.
  Outcome<std::unique_ptr<Lock>> lock = files.lock(directory);
  if (!lock) return lock.error();
  Outcome<LogReader> reader = LogReader::open(files, directory);
  if (!reader) return reader.error();
  const std::uint64_t volume_bytes = files.volume_bytes(directory);
  if (reader->segments().empty() && volume_bytes != 0 && volume_bytes < kVolumeBytesMin) {
    return Problem{directory + " is on a volume of " + std::to_string(volume_bytes) +
                   " bytes; a journal needs one of " + std::to_string(kVolumeBytesMin) +
                   " bytes at least"};
  }
  options.segment_bytes = fitting_segment_bytes(options, volume_bytes);
  std::unique_ptr<FileJournal> journal(
      new FileJournal(files, directory, std::move(options), std::move(*lock), std::move(*reader)));
  const bool is_new = journal->reader_->segments().empty();
  const Outcome<LogStarts> starts = starts_in(files, directory, journal->reader_->has_starts());
  if (!starts) return unusable_starts(starts.error());
  journal->had_starts_ = is_new || !starts->is_empty();
  return journal;
}

FileJournal::FileJournal(FileSystem& files, const std::string& directory,
                         FileJournalOptions options, std::unique_ptr<Lock> lock, LogReader reader)
    : options_(with_defaults(std::move(options))),
      lock_(std::move(lock)),
      reader_(std::move(reader)),
      layout_(options_.segment_bytes, rooms_),
      window_(files, directory),
      writer_(files, directory, options_,
              {.queue = queue_, .status = status_, .rooms = rooms_, .lock = *lock_},
              std::chrono::steady_clock::now) {}

FileJournal::~FileJournal() {
  if (!is_started_) return;
  queue_.stop();
  if (options_.is_stepped) {
    step();
    return;
  }
  thread_.join();
}

Outcome<Done> FileJournal::replay(const Visitor& visitor) {
  CHECK(reader_.has_value());
  auto holder = reader_->segments().begin();
  const Outcome<LogEnd> log = reader_->replay([&](std::string_view batch, Lsn begin) {
    // Segments may be empty, so more than one can end before this batch.
    while (holder->sealed_at && begin >= *holder->sealed_at) ++holder;
    const Lsn frame = begin - kFrameHeaderBytes;
    window_.note_frame(holder->header.first, frame, frame + frame_bytes(batch.size()));
    return visitor(batch, begin);
  });
  if (!log) return log.error();
  const Outcome<Done> begun = writer_.begin(*reader_, *log);
  if (!begun) return begun.error();
  std::deque<Lsn> segments;
  for (const Segment& segment : reader_->segments()) segments.push_back(segment.header.first);
  if (segments.empty()) segments.push_back(writer_.segment());
  layout_.resume(std::move(segments), writer_.synced());
  had_extent_ = reader_->has_extent();
  // It has the headers of all segments, which nobody needs any more.
  reader_.reset();
  cut_bytes_ = log->cut_bytes;
  // Last: from here on the writer belongs to that thread, if it can be started.
  if (!options_.is_stepped) {
    thread_ = std::thread([this] { writer_.run(); });
    pthread_setname_np(thread_.native_handle(), "journal");
  }
  is_started_ = true;
  return Done{};
}

Result<Journal::Span, Deposed> FileJournal::append(Epoch epoch, RecordBatch batch) {
  CHECK(epoch == kOnlyEpoch);
  PlacedBatch placed = place(std::move(batch));
  const Span span{.begin = placed.begin, .end = placed.end()};
  queue_.append(std::move(placed));
  return span;
}

Result<Journal::Span, Deposed> FileJournal::append_unhurried(Epoch epoch, RecordBatch batch) {
  CHECK(epoch == kOnlyEpoch);
  PlacedBatch placed = place(std::move(batch));
  const Span span{.begin = placed.begin, .end = placed.end()};
  queue_.append_unhurried(std::move(placed));
  return span;
}

PlacedBatch FileJournal::place(RecordBatch&& batch) {
  CHECK(is_started_);
  CHECK(!batch.empty() && batch.size() <= kBatchBytesMax);
  const LogLayout::Place place = layout_.place(frame_bytes(batch.size()));
  window_.note_frame(place.segment, place.begin, place.end);
  return {.segment = place.segment,
          .begin = place.begin + kFrameHeaderBytes,
          .payload = std::move(batch)};
}

void FileJournal::on_durable(std::function<void()> wake) {
  status_.on_change(std::move(wake));
}

Outcome<std::string> FileJournal::read(Lsn begin, std::size_t size) {
  // A batch leaves this memory only after its write.
  if (std::optional<std::string> bytes = queue_.read(begin, size)) return std::move(*bytes);
  return window_.read(begin, size);
}

/// Batches in memory need not be fetched from the disk.
void FileJournal::expect(Lsn begin, std::size_t size) {
  if (begin < durable()) window_.expect(begin, size);
}

Journal::Extent FileJournal::extent() const {
  if (!reader_) return layout_.extent();
  Extent extent{.segment_bytes = options_.segment_bytes};
  if (reader_->segments().empty()) return extent;
  extent.begin = reader_->segments().front().header.first;
  extent.end = reader_->files_end();
  return extent;
}

std::size_t FileJournal::trim(Lsn before) {
  CHECK(is_started_);
  const std::vector<Lsn> trimmed = layout_.trim(before);
  if (trimmed.empty()) return 0;
  window_.forget_before(layout_.oldest());
  queue_.remove(trimmed, layout_.oldest());
  return trimmed.size();
}

bool FileJournal::leave_behind(Lsn damage_end) {
  CHECK(is_started_);
  if (layout_.extent().newest_begin < damage_end) layout_.end_segment();
  return true;
}

void FileJournal::sync() {
  sync_until(layout_.end());
}

void FileJournal::sync_until(Lsn end) {
  CHECK(is_started_);
  if (!options_.is_stepped) return queue_.sync(end, status_);
  queue_.ask_to_sync(end);
  while (!queue_.is_synced(end) && step()) {
  }
}

bool FileJournal::step(Interval interval) {
  CHECK(is_started_);
  return writer_.step(interval == Interval::kIsOver);
}

}  // namespace millrace::journal
