#include "journal/writer/writer_loop.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace millrace::journal {
namespace {

/// How often a full disk is looked at, and how long a write that found no room at all waits.
constexpr std::chrono::seconds kLookInterval{1};
constexpr std::chrono::milliseconds kNoRoomPause{100};

/// How often it looks whether the directory is still ours, while it writes and while it does not. A
/// look takes some microseconds. Operators are promised that the server notices within a second.
constexpr std::chrono::milliseconds kLockLookInterval{10};
constexpr std::chrono::milliseconds kIdleLockLookInterval{500};

LogWriter::Options log_options(const FileJournalOptions& options) {
  return {.segment_bytes = options.segment_bytes,
          .salt = options.salt.value(),
          .start_id = options.start_id.value(),
          // Zeros ahead make each sync cheaper. Without a sync per batch they would only be more to
          // write.
          .zeroes_ahead = options.sync_mode == SyncMode::kAlways,
          .reserved_segments = options.reserved_segments};
}

/// Steps do not wait: each looks for room, and frees.
std::chrono::milliseconds interval(const FileJournalOptions& options,
                                   std::chrono::milliseconds usual) {
  return options.is_stepped ? std::chrono::milliseconds{0} : usual;
}

/// The process must end, and could not wait for room any longer.
Problem still_no_room(const Problem& problem) {
  return {.text =
              "the disk is full, and what nobody was told to be safe could not be stored before "
              "the end: " +
              problem.text,
          .is_out_of_space = true};
}

}  // namespace

WriterLoop::WriterLoop(FileSystem& files, const std::string& directory,
                       const FileJournalOptions& options, Shared shared, Clock now)
    : options_(options),
      queue_(shared.queue),
      status_(shared.status),
      lock_(shared.lock),
      now_(now),
      log_(files, directory, log_options(options)),
      full_disk_(log_, shared.status, shared.rooms,
                 {.segment_bytes = options.segment_bytes,
                  .look_interval = interval(options, kLookInterval)}),
      pace_(interval(options, kFreeInterval)) {}

Outcome<Done> WriterLoop::begin(const LogReader& reader, const LogEnd& log) {
  const Outcome<Done> resumed = log_.resume(reader, log);
  if (!resumed && resumed.error().is_out_of_space) {
    Problem problem = resumed.error();
    const std::string lack = full_disk_.lack_of_room();
    if (!lack.empty()) problem.text += "; " + lack;
    return problem;
  }
  if (!resumed) return resumed;
  const Outcome<bool> is_full = full_disk_.begin();
  if (!is_full) return is_full.error();
  queue_.begin(log_.synced());
  status_.begin(log_.synced(), *is_full, *is_full ? full_disk_.lack_of_room() : "");
  return Done{};
}

void WriterLoop::run() {
  while (work(next_round())) {
  }
}

bool WriterLoop::is_sync_planned() const {
  return options_.sync_mode == SyncMode::kInterval && log_.synced() < log_.written();
}

WriteQueue::Round WriterLoop::next_round() {
  constexpr Time kNever = Time::max();
  const bool may_be_due = is_sync_planned();
  // The earliest of the things that happen without being asked for.
  const Time until = std::min(
      {may_be_due ? sync_by_ : kNever, status_.is_full() ? full_disk_.next_look() : kNever,
       log_.removal().is_done() ? kNever : pace_.next(), lock_looked_at_ + kIdleLockLookInterval});
  WriteQueue::Round round = queue_.wait_for_round(until);
  if (options_.sync_mode == SyncMode::kAlways) round.must_sync = true;
  if (may_be_due && now_() >= sync_by_) round.must_sync = true;
  return round;
}

bool WriterLoop::step(bool is_interval_over) {
  CHECK(options_.is_stepped);
  if (queue_.has_failed()) return false;
  if (unfinished_) {
    WriteQueue::Round round = *std::exchange(unfinished_, std::nullopt);
    queue_.refresh(round);
    return work(round);
  }
  const bool is_sync_due = is_interval_over && is_sync_planned();
  const bool is_idle = !queue_.has_work() && !status_.is_full() && log_.removal().is_done();
  if (is_idle && !is_sync_due) return false;
  WriteQueue::Round round = queue_.take_round();
  if (options_.sync_mode == SyncMode::kAlways || is_sync_due) round.must_sync = true;
  return work(round);
}

/// A write or sync that failed cannot be tried again: the system may have dropped the bytes and
/// report success the next time. So the process ends, and recovery reads what the disk has.
///
/// False when that was the last round, or the writer cannot go on.
bool WriterLoop::work(const WriteQueue::Round& round) {
  const Outcome<Done> done = carry_out(round);
  if (done) {
    queue_.finish_round(log_.synced());
  } else if (options_.is_stepped && done.error().is_out_of_space && !round.is_last) {
    unfinished_ = round;
  } else {
    queue_.fail();
    options_.on_failure(done.error());
  }
  return done && !round.is_last;
}

Outcome<Done> WriterLoop::carry_out(const WriteQueue::Round& round) {
  const Lsn written_before = log_.written();
  const bool was_synced = log_.synced() == written_before;
  // Removed first: what is to be written may need their room.
  Outcome<Done> done = remove(round.removals);
  if (done) done = write_in_flight();
  if (done && round.must_sync) done = log_.sync();
  // Before publishing: what is written to a directory that somebody has taken away may be lost.
  if (done) done = look_at_lock();
  if (!done) return done;
  // Counted from the first write after a sync, so that no byte stays unsynced for longer than the
  // interval.
  if (was_synced) sync_by_ = now_() + options_.sync_interval;
  if (status_.is_full()) full_disk_.publish_rooms();
  // Without --sync always, durable means written: a killed process loses nothing of it.
  status_.set_durable(log_.written());
  // After publishing: clients do not wait for the freed room.
  done = free_some(log_.written() - written_before);
  if (done && status_.is_full()) done = full_disk_.look(now_());
  if (done && round.is_last) done = log_.close();
  return done;
}

/// What replaces the segments was written earlier, but perhaps not synced.
Outcome<Done> WriterLoop::remove(const WriteQueue::Removals& removals) {
  if (removals.segments.empty()) return Done{};
  const Outcome<Done> synced = log_.sync();
  return synced ? log_.remove(removals.segments, removals.oldest_kept) : synced;
}

/// On a full disk the writer makes new segments of the reserve. When that is used up, it gives the
/// rest of the reserve up for a longer batch, and then waits until there is room, perhaps by a
/// removal.
Outcome<Done> WriterLoop::write_in_flight() {
  for (;;) {
    Outcome<Done> written = log_.write(queue_.in_flight());
    const bool has_no_room = !written && written.error().is_out_of_space;
    if (has_no_room || !log_.reserve().is_whole()) {
      full_disk_.note_full(now_(), has_no_room ? written.error().text : log_.no_room());
    }
    if (!has_no_room) return written;
    const std::uint64_t needed = queue_.in_flight().back().frame_end() - log_.written();
    const Outcome<bool> given_up = log_.reserve().give_up(needed);
    if (!given_up) return given_up.error();
    if (*given_up) continue;
    // The simulation decides when there is room, and calls again.
    if (options_.is_stepped) return written;
    const Outcome<bool> has_room = wait_for_room();
    if (!has_room) return has_room.error();
    if (!*has_room) return still_no_room(written.error());
  }
}

/// False when the process is to end: then nobody waits for room any longer.
Outcome<bool> WriterLoop::wait_for_room() {
  if (const Outcome<Done> held = look_at_lock(); !held) return held.error();
  const std::optional<WriteQueue::Removals> removals = queue_.wait_for_removals(kNoRoomPause);
  if (!removals) return false;
  const Outcome<Done> removed = remove(*removals);
  return removed ? Outcome<bool>(true) : removed.error();
}

Outcome<Done> WriterLoop::look_at_lock() {
  const Time now = now_();
  if (now < lock_looked_at_ + interval(options_, kLockLookInterval)) return Done{};
  lock_looked_at_ = now;
  return lock_.check();
}

Outcome<Done> WriterLoop::free_some(std::uint64_t written) {
  Removal& removal = log_.removal();
  if (removal.is_done()) return Done{};
  // Removed segments still take room, and now all of it is wanted.
  if (status_.is_full()) return removal.finish();
  const std::uint64_t due = pace_.due(written, now_());
  if (due == 0) return Done{};
  const Outcome<Done> freed = removal.free(due);
  pace_.freed(now_());
  return freed;
}

}  // namespace millrace::journal
