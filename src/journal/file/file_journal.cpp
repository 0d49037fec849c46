#include "journal/file/file_journal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <random>
#include <utility>

#include "base/check.hpp"

namespace millrace::journal {
namespace {

std::uint64_t draw_salt() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

LogWriter::Options writer_options(const FileJournalOptions& options) {
  return {.segment_bytes = options.segment_bytes,
          .salt = options.salt ? *options.salt : draw_salt(),
          .zeroes_ahead = options.sync_mode == SyncMode::kAlways,
          .reserved_segments = options.reserved_segments};
}

/// How often a full disk is looked at, and how long a write that found no room at all waits.
constexpr std::chrono::seconds kLookInterval{1};
constexpr std::chrono::milliseconds kNoRoomPause{100};

/// How long syncs have the disk to themselves before more of a removed segment is freed.
constexpr std::chrono::milliseconds kFreeInterval{1};

/// How long `sync` waits for room on a full disk.
constexpr std::chrono::seconds kRoomPatience{3};

/// The process must end, and could not wait for room any longer.
Problem still_no_room(const Problem& problem) {
  return {.text =
              "the disk is full, and what nobody was told to be safe could not be stored before "
              "the end: " +
              problem.text,
          .is_out_of_space = true};
}

/// The batch that holds [begin, begin + size); batches are in the order of their places.
const PlacedBatch* find_batch(const std::vector<PlacedBatch>& batches, Lsn begin,
                              std::size_t size) {
  const auto after =
      std::upper_bound(batches.begin(), batches.end(), begin,
                       [](Lsn lsn, const PlacedBatch& batch) { return lsn < batch.begin; });
  if (after == batches.begin()) return nullptr;
  const PlacedBatch& batch = *std::prev(after);
  return begin < batch.end() && size <= batch.end() - begin ? &batch : nullptr;
}

}  // namespace

void end_process() {
  ::_exit(kExitJournalFailed);
}

Outcome<std::unique_ptr<FileJournal>> FileJournal::open(FileSystem& files, std::string directory,
                                                        FileJournalOptions options) {
  const Outcome<Done> ensured = files.ensure_directory(directory);
  if (!ensured) return ensured.error();
  Outcome<std::unique_ptr<Lock>> lock = files.lock(directory + "/lock");
  if (!lock) return lock.error();
  Outcome<LogReader> reader = LogReader::open(files, directory);
  if (!reader) return reader.error();
  return std::unique_ptr<FileJournal>(new FileJournal(
      files, std::move(directory), std::move(options), std::move(*lock), std::move(*reader)));
}

FileJournal::FileJournal(FileSystem& files, std::string directory, FileJournalOptions options,
                         std::unique_ptr<Lock> lock, LogReader reader)
    : files_(files),
      directory_(std::move(directory)),
      options_(std::move(options)),
      lock_(std::move(lock)),
      reader_(std::move(reader)),
      layout_(options_.segment_bytes, rooms_),
      window_(files, directory_),
      writer_(files, directory_, writer_options(options_)) {}

FileJournal::~FileJournal() {
  if (!is_started_) return;
  {
    const std::lock_guard guard(mutex_);
    is_stopping_ = true;
  }
  if (options_.is_stepped) {
    step();
    return;
  }
  work_.notify_one();
  thread_.join();
}

// ---- the caller's side --------------------------------------------------------------------------

Outcome<Done> FileJournal::replay(const Visitor& visitor) {
  CHECK(reader_.has_value());
  auto holder = reader_->segments().begin();
  const Outcome<LogEnd> log = reader_->replay([&](std::string_view batch, Lsn begin) {
    while (holder->sealed_at && begin >= *holder->sealed_at) ++holder;
    const Lsn frame = begin - kFrameHeaderBytes;
    window_.note_frame(holder->header.first, frame, frame + frame_bytes(batch.size()));
    return visitor(batch, begin);
  });
  if (!log) return log.error();
  const Outcome<Done> resumed = writer_.resume(*reader_, *log);
  if (!resumed) return resumed.error();
  std::deque<Lsn> segments;
  for (const Segment& segment : reader_->segments()) segments.push_back(segment.header.first);
  if (segments.empty()) segments.push_back(writer_.segment());
  layout_.resume(std::move(segments), writer_.synced());
  had_extent_ = reader_->has_extent();
  reader_.reset();
  cut_bytes_ = log->cut_bytes;
  sync_done_ = layout_.end();
  durable_.store(sync_done_, std::memory_order_release);
  const Outcome<bool> is_whole = writer_.reserve().take(options_.segment_bytes);
  if (!is_whole) return is_whole.error();
  is_full_ = !*is_whole;
  if (is_full()) {
    const Outcome<Done> regained = writer_.reserve().regain();
    if (!regained) return regained;
  }
  tell_rooms();
  is_started_ = true;
  if (!options_.is_stepped) thread_ = std::thread([this] { run(); });
  return Done{};
}

Result<Journal::Span, Deposed> FileJournal::append(Epoch epoch, std::string batch) {
  CHECK(is_started_);
  CHECK(epoch == kOnlyEpoch);
  CHECK(!batch.empty() && batch.size() <= kBatchBytesMax);
  const LogLayout::Place place = layout_.place(frame_bytes(batch.size()));
  window_.note_frame(place.segment, place.begin, place.end);
  PlacedBatch placed{.segment = place.segment,
                     .begin = place.begin + kFrameHeaderBytes,
                     .payload = std::move(batch)};
  const Span span{.begin = placed.begin, .end = placed.end()};
  const std::size_t bytes = placed.payload.size();
  {
    const std::lock_guard guard(mutex_);
    if (has_failed_) return span;
    pending_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    pending_.push_back(std::move(placed));
  }
  work_.notify_one();
  return span;
}

Lsn FileJournal::durable() const {
  return durable_.load(std::memory_order_acquire);
}

std::uint64_t FileJournal::pending_bytes() const {
  return pending_bytes_.load(std::memory_order_relaxed);
}

void FileJournal::on_durable(std::function<void()> wake) {
  const std::lock_guard guard(wake_mutex_);
  wake_ = std::move(wake);
}

Outcome<std::string> FileJournal::read(Lsn begin, std::size_t size) {
  {
    const std::lock_guard guard(mutex_);
    if (const PlacedBatch* const batch = find_in_memory(begin, size)) {
      return batch->payload.substr(begin - batch->begin, size);
    }
  }
  return window_.read(begin, size);
}

const PlacedBatch* FileJournal::find_in_memory(Lsn begin, std::size_t size) const {
  if (const PlacedBatch* const batch = find_batch(in_flight_, begin, size)) return batch;
  return find_batch(pending_, begin, size);
}

/// Batches in memory need not be fetched from the disk.
void FileJournal::expect(Lsn begin, std::size_t size) {
  if (begin < durable()) window_.expect(begin, size);
}

bool FileJournal::is_full() const {
  return is_full_.load(std::memory_order_acquire);
}

Journal::Extent FileJournal::extent() const {
  if (reader_) {
    if (reader_->segments().empty()) return {};
    return {.begin = reader_->segments().front().header.first, .end = reader_->files_end()};
  }
  return layout_.extent();
}

std::uint64_t FileJournal::log_bytes_max() const {
  return log_bytes_max_.load(std::memory_order_relaxed);
}

bool FileJournal::is_oldest_shared() const {
  return is_full() && is_oldest_shared_.load(std::memory_order_relaxed);
}

std::size_t FileJournal::trim(Lsn before) {
  CHECK(is_started_);
  const std::vector<Lsn> removals = layout_.trim(before);
  if (removals.empty()) return 0;
  window_.forget_before(layout_.oldest());
  {
    const std::lock_guard guard(mutex_);
    removals_.insert(removals_.end(), removals.begin(), removals.end());
    oldest_kept_ = layout_.oldest();
  }
  work_.notify_one();
  return removals.size();
}

void FileJournal::sync() {
  CHECK(is_started_);
  std::unique_lock guard(mutex_);
  sync_asked_ = layout_.end();
  if (options_.is_stepped) {
    guard.unlock();
    while (sync_done_ < layout_.end() && step()) {
    }
    return;
  }
  work_.notify_one();
  const auto is_through = [&] { return has_failed_ || sync_done_ >= layout_.end(); };
  while (!synced_.wait_for(guard, kRoomPatience, is_through)) must_not_wait_ = is_full();
}

// ---- the writer's thread ------------------------------------------------------------------------

void FileJournal::run() {
  while (work(next_round())) {
  }
}

bool FileJournal::step(Interval interval) {
  CHECK(options_.is_stepped && is_started_);
  const bool is_sync_due = options_.sync_mode == SyncMode::kInterval &&
                           interval == Interval::kIsOver && writer_.synced() < writer_.written();
  Round round;
  {
    const std::lock_guard guard(mutex_);
    if (has_failed_) return false;
    if (unfinished_) {
      round = *std::exchange(unfinished_, std::nullopt);
      round.removals.swap(removals_);
      round.oldest_kept = oldest_kept_;
      round.is_last = is_stopping_;
    } else {
      if (!has_work() && !is_full() && !is_sync_due && writer_.removal().is_done()) return false;
      round = take_round(is_sync_due);
    }
  }
  return work(round);
}

/// False when that was the last round, or the writer cannot go on.
bool FileJournal::work(const Round& round) {
  const Outcome<Done> done = carry_out(round);
  if (done) {
    finish_round();
  } else if (options_.is_stepped && done.error().is_out_of_space && !round.is_last) {
    unfinished_ = round;
    unfinished_->removals.clear();  // done
  } else {
    fail(done.error());
  }
  return done && !round.is_last;
}

FileJournal::Round FileJournal::next_round() {
  std::unique_lock guard(mutex_);
  const bool is_sync_planned =
      options_.sync_mode == SyncMode::kInterval && writer_.synced() < writer_.written();
  constexpr auto kNever = std::chrono::steady_clock::time_point::max();
  const auto until = std::min({is_sync_planned ? sync_by_ : kNever, is_full() ? look_by_ : kNever,
                               writer_.removal().is_done() ? kNever : free_by_});
  const auto is_on = [&] { return has_work(); };
  if (until == kNever) {
    work_.wait(guard, is_on);
  } else {
    work_.wait_until(guard, until, is_on);
  }
  return take_round(is_sync_planned && std::chrono::steady_clock::now() >= sync_by_);
}

/// Everything that was asked for up to now. The mutex is held.
FileJournal::Round FileJournal::take_round(bool is_sync_due) {
  Round round;
  in_flight_.swap(pending_);
  round.removals.swap(removals_);
  round.oldest_kept = oldest_kept_;
  round.is_last = is_stopping_;
  round.must_sync = options_.sync_mode == SyncMode::kAlways || is_sync_due ||
                    sync_asked_ > sync_done_ || is_stopping_;
  return round;
}

bool FileJournal::has_work() const {
  return !pending_.empty() || !removals_.empty() || sync_asked_ > sync_done_ || is_stopping_;
}

/// Reads `in_flight_` without the mutex: nobody else changes it.
Outcome<Done> FileJournal::carry_out(const Round& round) {
  const Lsn written_before = writer_.written();
  const bool was_synced = writer_.synced() == written_before;
  // Removed first: what is to be written may need their room.
  Outcome<Done> done = remove(round.removals, round.oldest_kept);
  if (done) done = write_in_flight();
  if (done && round.must_sync) done = writer_.sync();
  if (!done) return done;
  if (was_synced) sync_by_ = std::chrono::steady_clock::now() + options_.sync_interval;
  if (is_full()) tell_rooms();
  publish(writer_.written());
  done = free_some(writer_.written() - written_before);
  if (done && is_full()) done = look_for_room();
  if (done && round.is_last) done = writer_.close();
  return done;
}

/// What replaces the segments was written earlier, but perhaps not synced.
Outcome<Done> FileJournal::remove(const std::vector<Lsn>& segments, Lsn oldest_kept) {
  if (segments.empty()) return Done{};
  const Outcome<Done> synced = writer_.sync();
  return synced ? writer_.remove(segments, oldest_kept) : synced;
}

/// On a full disk the writer makes new segments of the reserve. When that is used up, it gives the
/// rest of the reserve up for a longer batch, and then waits until there is room, perhaps by a
/// removal.
Outcome<Done> FileJournal::write_in_flight() {
  for (;;) {
    Outcome<Done> written = writer_.write(in_flight_);
    const bool has_no_room = !written && written.error().is_out_of_space;
    if (has_no_room && !writer_.removal().is_done()) {
      const Outcome<Done> freed = writer_.removal().finish();
      if (!freed) return freed;
      continue;
    }
    if (has_no_room || !writer_.reserve().is_whole()) set_full(true);
    if (!has_no_room) return written;
    const std::uint64_t needed = in_flight_.back().frame_end() - writer_.written();
    const Outcome<bool> given_up = writer_.reserve().give_up(needed);
    if (!given_up) return given_up.error();
    if (*given_up) continue;
    if (options_.is_stepped) return written;
    const Outcome<bool> goes_on = wait_for_room();
    if (!goes_on) return goes_on.error();
    if (!*goes_on) return still_no_room(written.error());
  }
}

/// False when the process is to end: then nobody waits for room any longer.
Outcome<bool> FileJournal::wait_for_room() {
  std::unique_lock guard(mutex_);
  const auto is_over = [&] { return is_stopping_ || must_not_wait_ || !removals_.empty(); };
  work_.wait_for(guard, kNoRoomPause, is_over);
  if (is_stopping_ || must_not_wait_) return false;
  const std::vector<Lsn> removals = std::exchange(removals_, {});
  const Lsn oldest_kept = oldest_kept_;
  guard.unlock();
  const Outcome<Done> removed = remove(removals, oldest_kept);
  return removed ? Outcome<bool>(true) : removed.error();
}

/// After everything that clients wait for. A little at a time while nothing is written, and in
/// proportion to what is written.
Outcome<Done> FileJournal::free_some(std::uint64_t written) {
  Removal& removal = writer_.removal();
  if (removal.is_done()) return Done{};
  if (is_full()) return removal.finish();
  to_free_ += kFreePace * written;
  const bool is_time = options_.is_stepped || std::chrono::steady_clock::now() >= free_by_;
  if (!is_time && to_free_ < kFreedBytesMin) return Done{};
  const Outcome<Done> freed = removal.free(std::max(to_free_, kFreedBytesMin));
  to_free_ = 0;
  free_by_ = std::chrono::steady_clock::now() + kFreeInterval;
  return freed;
}

Outcome<Done> FileJournal::look_for_room() {
  const Outcome<Done> regained = writer_.reserve().regain();
  if (!regained) return regained;
  tell_rooms();
  const auto now = std::chrono::steady_clock::now();
  const bool is_time = now >= look_by_ || options_.is_stepped;
  // In each round, since a backup may begin at any time.
  if (const Outcome<Done> looked = look_at_oldest(); !looked) return looked;
  if (!is_time) return Done{};
  look_by_ = now + kLookInterval;
  const Outcome<bool> found = writer_.reserve().take(options_.segment_bytes);
  if (!found) return found.error();
  if (*found) set_full(false);
  return Done{};
}

Outcome<Done> FileJournal::look_at_oldest() {
  const Outcome<bool> is_shared = writer_.is_oldest_shared();
  if (!is_shared) return is_shared.error();
  is_oldest_shared_.store(*is_shared, std::memory_order_relaxed);
  return Done{};
}

void FileJournal::set_full(bool is_full) {
  tell_rooms();
  if (is_full_.exchange(is_full, std::memory_order_acq_rel) == is_full) return;
  look_by_ = std::chrono::steady_clock::now() + kLookInterval;
  wake();
}

void FileJournal::tell_rooms() {
  log_bytes_max_.store(writer_.bytes_max(), std::memory_order_relaxed);
  rooms_.tell(writer_.rooms());
}

void FileJournal::publish(Lsn durable) {
  const Lsn before = durable_.load(std::memory_order_relaxed);
  CHECK(durable >= before);
  if (durable == before) return;
  durable_.store(durable, std::memory_order_release);
  wake();
}

void FileJournal::wake() {
  const std::lock_guard guard(wake_mutex_);
  if (wake_) wake_();
}

void FileJournal::finish_round() {
  std::uint64_t bytes = 0;
  for (const PlacedBatch& batch : in_flight_) bytes += batch.payload.size();
  CHECK(bytes <= pending_bytes());
  pending_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  {
    const std::lock_guard guard(mutex_);
    in_flight_.swap(finished_);
    sync_done_ = writer_.synced();
  }
  synced_.notify_all();
  finished_.clear();  // frees the memory without keeping the caller out
}

void FileJournal::fail(const Problem& problem) {
  {
    const std::lock_guard guard(mutex_);
    has_failed_ = true;
  }
  synced_.notify_all();
  if (options_.on_failure) return options_.on_failure(problem);
  std::fprintf(stderr, "millrace: journal failed: %s\n", problem.text.c_str());
  end_process();
}

}  // namespace millrace::journal
