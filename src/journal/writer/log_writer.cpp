#include "journal/writer/log_writer.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.hpp"
#include "journal/file/log_files.hpp"
#include "journal/file/log_starts.hpp"

namespace millrace::journal {
namespace {

/// How much of the log is in memory at a time while it is written once more.
constexpr std::size_t kCopyBytes = std::size_t{1} << 20;

/// How much is zeroed at a time, and the longest run that is worth it.
constexpr std::size_t kZeroAheadBytes = std::size_t{256} << 10;
/// A longer run would write many zeros for few syncs: the next run would use them up at once.
constexpr std::size_t kShortRunBytes = std::size_t{64} << 10;

std::string_view view_of(std::span<const char> bytes) {
  return {bytes.data(), bytes.size()};
}

}  // namespace

ExtentFile::ExtentFile(FileSystem& files, const std::string& directory)
    : files_(files), directory_(directory), path_(directory + "/" + kExtentName) {}

Outcome<Done> ExtentFile::note(const LogExtent& extent) {
  const Outcome<Done> written = write(extent);
  if (written || !written.error().is_out_of_space) return written;
  file_.reset();
  if (!exists_) return Done{};
  const Outcome<Done> removed = files_.remove(path_);
  if (!removed) return removed;
  exists_ = false;
  return files_.sync_directory(directory_);
}

Outcome<Done> ExtentFile::write(const LogExtent& extent) {
  const bool is_new = !file_;
  if (is_new) {
    const Outcome<Done> opened = open();
    if (!opened) return opened;
  }
  const auto encoded = encode_extent(extent);
  const std::string_view part(encoded.data(), encoded.size());
  Outcome<Done> done = file_->write(0, {&part, 1});
  if (done) done = file_->sync();
  if (done && is_new) done = files_.sync_directory(directory_);
  return done;
}

Outcome<Done> ExtentFile::open() {
  Outcome<std::unique_ptr<File>> file =
      exists_ ? files_.open(path_, FileSystem::Access::kReadWrite) : files_.create(path_);
  if (!file) return file.error();
  file_ = std::move(*file);
  exists_ = true;
  return Done{};
}

LogWriter::LogWriter(FileSystem& files, std::string directory, Options options)
    : files_(files),
      directory_(std::move(directory)),
      options_(options),
      reserve_(files, directory_, options.segment_bytes, options.reserved_segments),
      removal_(files, directory_),
      extent_(files, directory_),
      // Made once: zeros pad each frame, and each write ahead of the log uses all of them.
      zeros_(kZeroAheadBytes, '\0') {}

/// Looks before anything is changed: a file that could not be written to refuses the start.
Outcome<Done> LogWriter::check_files(const LogNames& names) {
  for (const auto* const leftovers : {&names.reserved, &names.removed}) {
    for (const std::string& name : *leftovers) {
      const auto file = files_.open(directory_ + "/" + name, FileSystem::Access::kReadWrite);
      if (!file) return file.error();
    }
  }
  if (!names.has_starts) return Done{};
  const auto starts = files_.open(directory_ + "/" + kStartsName, FileSystem::Access::kReadWrite);
  return starts ? Outcome<Done>(Done{}) : unusable_starts(starts.error());
}

Outcome<Done> LogWriter::resume(const LogReader& reader, const LogEnd& log) {
  const Outcome<LogNames> names = names_in(files_, directory_);
  if (!names) return names.error();
  if (const Outcome<Done> checked = check_files(*names); !checked) return checked;
  extent_.resume(names->has_extent);
  // A crash can leave a segment whose header was never synced. It holds nothing, and its name may
  // be needed for a segment that begins there.
  if (reader.begun()) {
    Outcome<Done> removed = files_.remove(path_of(*reader.begun()));
    if (removed) removed = files_.sync_directory(directory_);
    if (!removed) return removed;
  }
  Outcome<Done> done = continue_log(reader, log, *names);
  // Before the first frame of this process.
  if (done) {
    done =
        note_start(files_, directory_, names->has_starts, {.at = log.end, .id = options_.start_id});
  }
  return done ? reserve_.resume(names->reserved) : done;
}

Outcome<Done> LogWriter::continue_log(const LogReader& reader, const LogEnd& log,
                                      const LogNames& names) {
  Outcome<Done> done = Done{};
  if (reader.segments().empty()) {
    oldest_ = log.end;
    done = begin_segment(log.end, options_.segment_bytes);
  } else {
    oldest_ = reader.segments().front().header.first;
    done = continue_segment(reader.segments().back(), log);
    if (done) done = note_extent();
  }
  // Also where no segment is left: their names are needed again.
  return done ? removal_.resume(names.removed) : done;
}

/// What the log does not show to have been synced is written once more: after a failed sync the
/// system may still show bytes that it will never store.
Outcome<Done> LogWriter::continue_segment(const Segment& segment, const LogEnd& log) {
  Outcome<std::unique_ptr<File>> file =
      files_.open(path_of(segment.header.first), FileSystem::Access::kReadWrite);
  if (!file) return file.error();
  file_ = std::move(*file);
  header_ = segment.header;
  Outcome<Done> done = write_again(log.durable, log.end);
  // A torn tail may hold whole frames after the damage. If they stayed, a later frame of the right
  // length could make them look like a part of the log.
  if (done) done = write_zeros(*file_, log.end - header_.first, log.cut_bytes);
  if (done) done = file_->sync();
  if (done) done = files_.sync_directory(directory_);
  if (done) done = find_room();
  if (!done) return done;
  // Zeros ahead of the log may be there from the former process, but nobody knows how many.
  zeroed_ = written_ = synced_ = log.end;
  return Done{};
}

/// Room for the whole of the present segment. A full disk does not keep the server from starting:
/// then the segment keeps the room that it had.
Outcome<Done> LogWriter::find_room() {
  const Outcome<std::uint64_t> size = file_->size();
  if (!size) return size.error();
  room_ = std::max(*size, options_.segment_bytes);
  const Outcome<Done> found = file_->preallocate(room_);
  if (found || !found.error().is_out_of_space) return found;
  room_ = *size;
  return file_->truncate(room_);
}

Outcome<Done> LogWriter::write_again(Lsn begin, Lsn end) {
  std::vector<char> buffer(std::min<std::uint64_t>(end - begin, kCopyBytes));
  while (begin < end) {
    const std::span<char> piece(buffer.data(), std::min<std::uint64_t>(end - begin, buffer.size()));
    const Outcome<std::size_t> got = file_->read(begin - header_.first, piece);
    if (!got) return got.error();
    // The replay has just read these bytes: somebody else changes the file.
    if (*got < piece.size()) return Problem{path_of(header_.first) + " became shorter"};
    const std::string_view part = view_of(piece);
    const Outcome<Done> written = file_->write(begin - header_.first, {&part, 1});
    if (!written) return written;
    begin += piece.size();
  }
  return Done{};
}

Outcome<Done> LogWriter::begin_segment(Lsn first, std::uint64_t bytes) {
  const SegmentHeader header{.first = first, .salt = options_.salt};
  Outcome<RoomyFile> segment = open_segment(header, bytes);
  if (!segment) return segment.error();
  file_ = std::move(segment->file);
  header_ = header;
  room_ = segment->bytes;
  // The header was synced when the segment was made, or lent.
  zeroed_ = written_ = synced_ = first + kSegmentHeaderBytes;
  return note_extent();
}

/// As long as a segment usually is, so that more batches fit. On a full disk it is a reserved file;
/// and no longer than it must be where no reserved file is long enough.
Outcome<RoomyFile> LogWriter::open_segment(const SegmentHeader& header, std::uint64_t bytes) {
  if (reserve_.is_whole()) {
    Outcome<RoomyFile> created = create_segment(header, std::max(bytes, options_.segment_bytes));
    if (created || !created.error().is_out_of_space) return created;
    // `write` frees what was removed and tries again. To use the reserve for that would call a disk
    // full that is not.
    if (!removal_.is_done()) return created;
    no_room_ = created.error().text;
  }
  const auto encoded = encode_segment_header(header);
  auto lent = reserve_.lend(path_of(header.first), view_of(encoded), bytes);
  if (!lent) return lent.error();
  if (*lent) return std::move(**lent);
  return create_segment(header, bytes);
}

/// The header and the name are on stable storage before the first frame is written, so that a
/// segment without a header can hold nothing.
Outcome<RoomyFile> LogWriter::create_segment(const SegmentHeader& header, std::uint64_t room) {
  Outcome<std::unique_ptr<File>> file = files_.create(path_of(header.first));
  if (!file) return file.error();
  const auto encoded = encode_segment_header(header);
  const std::string_view part = view_of(encoded);
  Outcome<Done> done = (*file)->preallocate(room);
  if (done) done = (*file)->write(0, {&part, 1});
  if (done) done = (*file)->sync();
  if (done) done = files_.sync_directory(directory_);
  if (done) return RoomyFile{.file = std::move(*file), .bytes = room};
  // The same segment may be tried again, and then its name must be free.
  if (done.error().is_out_of_space) (void)files_.remove(path_of(header.first));
  return done.error();
}

/// On stable storage before the first frame of a new segment is written, and before an old segment
/// is removed.
Outcome<Done> LogWriter::note_extent(Lsn end) {
  return extent_.note({.oldest = oldest_, .newest = header_.first, .end = end});
}

// ---- writing ------------------------------------------------------------------------------------

/// What was removed counts as free: the disk has no room only when that was not enough either.
Outcome<Done> LogWriter::write(std::span<const PlacedBatch> batches) {
  const Outcome<Done> written = write_rest(batches);
  if (written || !written.error().is_out_of_space || removal_.is_done()) return written;
  const Outcome<Done> freed = removal_.finish();
  return freed ? write_rest(batches) : freed;
}

Outcome<Done> LogWriter::write_rest(std::span<const PlacedBatch> batches) {
  while (!batches.empty()) {
    const PlacedBatch& front = batches.front();
    // A call that ran out of space is made again with the same batches.
    if (front.frame_end() <= written_) {
      batches = batches.subspan(1);
      continue;
    }
    if (front.segment != header_.first) {
      // Segments follow each other without a gap: the journal ends one where the frames end.
      CHECK(front.segment == written_);
      // In every sync mode, so that damage in a sealed segment is never taken for a torn tail.
      const Outcome<Done> sealed = sync();
      if (!sealed) return sealed;
      const Outcome<Done> begun = begin_segment(front.segment, front.frame_end() - front.segment);
      if (!begun) return begun;
    }
    const auto elsewhere =
        std::find_if(batches.begin(), batches.end(),
                     [&](const PlacedBatch& batch) { return batch.segment != front.segment; });
    const auto count = static_cast<std::size_t>(elsewhere - batches.begin());
    const Outcome<Done> written = write_run(batches.first(count));
    if (!written) return written;
    batches = batches.subspan(count);
  }
  return Done{};
}

/// One gathered write for all batches of one segment.
///
/// Some of the writes put zeros ahead of the log. Otherwise the file system has to note, at each
/// sync, that a preallocated block has now been written: a sync then takes half as long again.
Outcome<Done> LogWriter::write_run(std::span<const PlacedBatch> batches) {
  CHECK(batches.front().frame_begin() == written_);
  headers_.clear();
  // The parts are views of the headers, so these must not move.
  headers_.reserve(batches.size());
  parts_.clear();
  for (const PlacedBatch& batch : batches) {
    headers_.push_back(encode_frame_header(batch.payload, synced_,
                                           {.lsn = batch.frame_begin(), .salt = header_.salt}));
    parts_.push_back(view_of(headers_.back()));
    parts_.push_back(batch.payload.view());
    // Frames are aligned, and the bytes between them are defined: recovery tells zeros from damage.
    parts_.push_back(view_of(zeros_).substr(0, batch.frame_end() - batch.end()));
  }
  const Lsn end = batches.back().frame_end();
  const Lsn room_end = header_.first + room_;
  const bool is_short = end - written_ <= kShortRunBytes;
  if (options_.zeroes_ahead && is_short && end > zeroed_ && end < room_end) {
    const std::size_t ahead = std::min<std::uint64_t>(room_end - end, kZeroAheadBytes);
    parts_.push_back(view_of(zeros_).substr(0, ahead));
    zeroed_ = end + ahead;
  }
  const Outcome<Done> written = file_->write(written_ - header_.first, parts_);
  if (!written) return written;
  written_ = end;
  return Done{};
}

Outcome<Done> LogWriter::sync() {
  CHECK(synced_ <= written_);
  if (synced_ == written_) return Done{};
  const Outcome<Done> done = file_->sync();
  // After a failed sync nothing counts as synced: a second one may succeed although bytes are lost.
  if (done) synced_ = written_;
  return done;
}

/// The directory is synced after each, so that no crash leaves a gap in the middle of the log. A
/// removed segment joins the reserve, if that lacks something.
Outcome<Done> LogWriter::remove(std::span<const Lsn> segments, Lsn oldest) {
  if (segments.empty()) return Done{};
  // The present segment stays, and segments are removed in their order.
  CHECK(segments.front() == oldest_ && segments.back() < oldest && oldest <= header_.first);
  oldest_ = oldest;
  // Noted before the first file is removed: a crash in between leaves a segment too many, which is
  // harmless. The other order would look like a missing segment.
  if (const Outcome<Done> noted = note_extent(); !noted) return noted;
  for (const Lsn first : segments) {
    // On a full disk the room stays ours: freed room would be taken by other programs.
    const Outcome<bool> adopted = reserve_.adopt(path_of(first));
    if (!adopted) return adopted.error();
    if (*adopted) continue;
    const Outcome<Done> done = removal_.remove(path_of(first));
    if (!done) return done;
  }
  return Done{};
}

Outcome<bool> LogWriter::is_oldest_shared() {
  return files_.has_other_name(path_of(oldest_));
}

Outcome<Done> LogWriter::close() {
  if (const Outcome<Done> freed = removal_.finish(); !freed) return freed;
  if (reserve_.is_whole()) {
    // A stopped server takes no more room than its log and its reserve. On a full disk it keeps
    // all.
    const Outcome<Done> cut = file_->truncate(written_ - header_.first);
    if (!cut) return cut;
  }
  const Outcome<Done> synced = file_->sync();
  // Last: the next start believes this end, and would report a log that is shorter as damaged.
  return synced ? note_extent(written_) : synced;
}

LogWriter::Rooms LogWriter::rooms() const {
  Rooms rooms{.first = header_.first, .bytes = {room_}};
  // While the reserve is whole, new segments come from free space, and have the usual length.
  if (!reserve_.is_whole()) std::ranges::copy(reserve_.lengths(), std::back_inserter(rooms.bytes));
  return rooms;
}

std::uint64_t LogWriter::bytes_max() const {
  // A long batch may have made the segment longer than its preallocated room.
  return std::max(written_, header_.first + room_) - oldest_ + reserve_.held();
}

std::string LogWriter::path_of(Lsn first) const {
  return directory_ + "/" + segment_name(first);
}

}  // namespace millrace::journal
