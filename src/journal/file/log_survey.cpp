#include "journal/file/log_survey.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "journal/file/log_files.hpp"
#include "journal/file/log_format.hpp"

namespace millrace::journal {
namespace {

constexpr std::string_view kIsMissing = "it is missing";

/// Where the next whole frame begins; the end when there is none.
std::size_t next_frame(std::string_view bytes, std::size_t offset, const SegmentHeader& header) {
  const std::size_t end = bytes_in_use(bytes);
  for (; offset < end; offset += kFrameAlignment) {
    const FramePlace place{.lsn = header.first + offset, .salt = header.salt};
    if (decode_frame(bytes.substr(offset), place)) return offset;
  }
  return bytes.size();
}

/// One pass over the segments of a directory.
class Surveyor {
 public:
  Surveyor(FileSystem& files, const std::string& directory, Purpose purpose, const BatchTaker& take)
      : files_(files), directory_(directory), purpose_(purpose), take_(take) {}

  Outcome<Survey> run();

 private:
  /// The facts about a segment, without its bytes.
  struct Place {
    Lsn first = 0;
    std::optional<Lsn> sealed_at;          ///< where the next one begins
    bool breaks_off = false;               ///< before that
    std::vector<std::uint64_t> gaps = {};  ///< see `Readable`

    /// The first gap between these offsets.
    [[nodiscard]] std::optional<std::uint64_t> gap_in(std::size_t begin, std::size_t end) const {
      const auto gap = std::ranges::find_if(
          gaps, [=](std::uint64_t at) { return at < end && at + kGapBytes > begin; });
      return gap == gaps.end() ? std::nullopt : std::optional(*gap);
    }
  };

  Outcome<std::optional<LogExtent>> find_extent();
  Outcome<Done> read_headers(const std::vector<Lsn>& segments);
  Outcome<Done> take_file(Place place);
  void check_end();
  Outcome<Done> take_segment(const Place& place, std::string_view bytes);
  Outcome<Done> take_damaged_header(const Place& place, std::string_view bytes);
  void note_writer(std::uint64_t salt);
  Outcome<Done> take_frames(const SegmentHeader& header, const Place& place,
                            std::string_view bytes);
  Outcome<Done> take_frame(const Frame& frame, FramePlace place, std::uint64_t offset);
  [[nodiscard]] bool is_torn(std::string_view rest, FramePlace place, bool is_tail) const;
  [[nodiscard]] std::optional<SegmentHeader> guess_header(Lsn first, std::string_view bytes) const;
  void note(std::optional<std::uint64_t> at, std::optional<std::uint64_t> end, std::string what);
  [[nodiscard]] std::string path_of(Lsn first) const {
    return directory_ + "/" + segment_name(first);
  }

  FileSystem& files_;
  const std::string& directory_;
  const Purpose purpose_;
  const BatchTaker& take_;
  std::optional<LogExtent> extent_;   ///< as it was before the segments were listed
  std::vector<std::uint64_t> salts_;  ///< of the headers that are whole
  std::set<std::uint64_t> writers_;   ///< of the segments so far, by their salts
  std::optional<std::uint64_t> last_writer_;
  Survey survey_;
};

/// In the segment found last.
void Surveyor::note(std::optional<std::uint64_t> at, std::optional<std::uint64_t> end,
                    std::string what) {
  SegmentFinding& segment = survey_.segments.back();
  if (!segment.damaged_at) segment.damaged_at = at.value_or(0);
  survey_.damages.push_back(
      {.file = segment_name(segment.first), .at = at, .end = end, .what = std::move(what)});
}

Outcome<Done> Surveyor::read_headers(const std::vector<Lsn>& segments) {
  for (const Lsn first : segments) {
    const auto bytes = read_up_to(files_, path_of(first), kSegmentHeaderBytes);
    // A file that cannot be read is reported when its turn comes.
    if (!bytes) continue;
    if (const auto header = decode_segment_header(*bytes)) salts_.push_back(header->salt);
    if (const auto version = foreign_version(*bytes))
      return wrong_version(path_of(first), *version);
  }
  // Each salt is tried on whole segments, so none twice.
  std::sort(salts_.begin(), salts_.end());
  salts_.erase(std::unique(salts_.begin(), salts_.end()), salts_.end());
  return Done{};
}

/// A process gives all its segments the same salt, so another header may have the one that is
/// missing; and what is damaged may be another part of this header.
std::optional<SegmentHeader> Surveyor::guess_header(Lsn first, std::string_view bytes) const {
  std::vector<std::uint64_t> salts = salts_;
  // The header's own salt first: often another byte of it is damaged.
  if (const auto salt = claimed_salt(bytes)) salts.insert(salts.begin(), *salt);
  for (const std::uint64_t salt : salts) {
    const SegmentHeader header{.first = first, .salt = salt};
    if (next_frame(bytes, kSegmentHeaderBytes, header) < bytes.size()) return header;
  }
  return std::nullopt;
}

bool Surveyor::is_torn(std::string_view rest, FramePlace place, bool is_tail) const {
  // A check must say what a start would say. A salvage takes every whole frame, also those after a
  // torn one.
  return purpose_ == Purpose::kCheck ? !is_proven_durable(rest, place) : is_tail;
}

Outcome<Done> Surveyor::take_frame(const Frame& frame, FramePlace place, std::uint64_t offset) {
  const Outcome<BatchTaken> taken = take_(frame.payload, place.lsn + kFrameHeaderBytes);
  if (!taken) return taken.error();
  if (taken->fault) {
    note(offset, offset + frame.bytes, no_records(*taken->fault));
    return Done{};
  }
  ++survey_.segments.back().batches;
  survey_.segments.back().records += taken->records;
  return Done{};
}

Outcome<Done> Surveyor::take_frames(const SegmentHeader& header, const Place& segment,
                                    std::string_view bytes) {
  const bool is_last = !segment.sealed_at;
  std::size_t offset = kSegmentHeaderBytes;
  while (offset < bytes.size()) {
    const FramePlace place{.lsn = header.first + offset, .salt = header.salt};
    const std::string_view rest = bytes.substr(offset);
    if (const auto frame = decode_frame(rest, place)) {
      const Outcome<Done> taken = take_frame(*frame, place, offset);
      if (!taken) return taken;
      offset += frame->bytes;
      continue;
    }
    // Frames begin at multiples of the alignment, so the search needs no length of the damaged one.
    const std::size_t next = next_frame(bytes, offset + kFrameAlignment, header);
    const bool is_tail = next >= bytes.size();
    // The last segment may end with room that was never written.
    const std::size_t end = is_last && is_tail ? offset + bytes_in_use(rest) : next;
    const auto gap = segment.gap_in(offset, end);
    if (is_last && !gap && is_torn(rest, place, is_tail)) {
      survey_.segments.back().torn_bytes = bytes_in_use(rest);
      break;
    }
    // The missing end is noted once, by `take_file`.
    if (is_tail && segment.breaks_off && !gap) break;
    note(offset, end, gap ? cannot_be_read(*gap) : std::string(kNotWhole));
    offset = end;
    if (is_tail) break;
  }
  survey_.segments.back().bytes = std::min(offset, bytes.size());
  return Done{};
}

Outcome<Done> Surveyor::take_damaged_header(const Place& place, std::string_view bytes) {
  const auto header = decode_segment_header(bytes);
  const auto gap = place.gap_in(0, kSegmentHeaderBytes);
  const std::string what = gap      ? cannot_be_read(*gap)
                           : header ? "the header belongs to " + segment_name(header->first)
                                    : std::string(kHeaderNotWhole);
  const std::optional<SegmentHeader> guessed = guess_header(place.first, bytes);
  if (guessed) {
    note(0, kSegmentHeaderBytes, what);
    return take_frames(*guessed, place, bytes);
  }
  const std::size_t used = bytes_in_use(bytes);
  survey_.segments.back().bytes = place.sealed_at ? bytes.size() : used;
  note(0, std::max(used, kSegmentHeaderBytes), what + ", and no frame can be read");
  return Done{};
}

Outcome<Done> Surveyor::take_segment(const Place& place, std::string_view bytes) {
  const std::optional<SegmentHeader> header = decode_segment_header(bytes);
  if (header && header->first == place.first) {
    note_writer(header->salt);
    return take_frames(*header, place, bytes);
  }
  const bool is_empty =
      bytes_in_use(bytes.substr(std::min(bytes.size(), kSegmentHeaderBytes))) == 0;
  const bool is_named = extent_ && extent_->newest == place.first;
  if (!header && !place.sealed_at && is_empty && !is_named) {
    survey_.segments.back().is_begun = true;
    return Done{};
  }
  return take_damaged_header(place, bytes);
}

/// Of the segment found last. A process draws its salt, so none has that of an earlier one.
void Surveyor::note_writer(std::uint64_t salt) {
  const bool has_written = !writers_.insert(salt).second;
  const bool is_next = last_writer_ != salt;
  if (has_written && is_next && !survey_.mixed_at) {
    survey_.mixed_at = survey_.segments.back().first;
  }
  last_writer_ = salt;
}

Outcome<Done> Surveyor::take_file(Place place) {
  survey_.segments.push_back({.first = place.first});
  Outcome<Readable> readable = readable_of(files_, path_of(place.first));
  // A check cannot tell whether it is whole. A salvage does without it.
  if (!readable && purpose_ == Purpose::kCheck) return readable.error();
  if (!readable) {
    note(std::nullopt, std::nullopt, "it cannot be read: " + readable.error().text);
    return Done{};
  }
  std::string& bytes = readable->bytes;
  place.gaps = std::move(readable->gaps);
  const std::size_t size = bytes.size();
  const std::size_t part = place.sealed_at ? *place.sealed_at - place.first : size;
  // A segment ends where the next one begins, though its file may be longer.
  bytes.resize(std::min(size, part));
  place.breaks_off = size >= kSegmentHeaderBytes && size < part;
  const Outcome<Done> taken = take_segment(place, bytes);
  if (taken && !place.sealed_at) check_end();
  if (taken && place.breaks_off) note(size, std::nullopt, breaks_off_before(*place.sealed_at));
  return taken;
}

/// Of the segment found last.
void Surveyor::check_end() {
  const SegmentFinding& last = survey_.segments.back();
  const Lsn end = last.first + last.bytes;
  // Where the newest segment is missing, that is said.
  if (!extent_ || last.first < extent_->newest) return;
  if (end >= extent_->end || last.damaged_at) return;
  note(last.bytes, std::nullopt, lacks_its_end(extent_->end - end));
}

/// None, and damage, where the disk does not give it.
Outcome<std::optional<LogExtent>> Surveyor::find_extent() {
  auto extent = extent_in(files_, directory_);
  if (extent || !extent.error().is_passing) return extent;
  if (survey_.damages.empty()) {
    survey_.damages.push_back({.file = kExtentName, .at = 0, .what = cannot_be_read(0)});
  }
  return std::optional<LogExtent>();
}

Outcome<Survey> Surveyor::run() {
  const auto before = find_extent();
  if (!before) return before.error();
  extent_ = *before;
  const Outcome<std::vector<Lsn>> segments = segments_in(files_, directory_);
  if (!segments) return segments.error();
  if (segments->empty() && !extent_) return Problem{directory_ + " holds no journal"};
  if (const auto read = read_headers(*segments); !read) return read.error();
  // Whoever writes to the log meanwhile removes segments after the extent has said so.
  const auto after = find_extent();
  if (!after) return after.error();
  survey_.has_extent = extent_ && *after;
  const auto miss = [&](Lsn first) {
    survey_.damages.push_back({.file = segment_name(first), .what = std::string(kIsMissing)});
  };
  if (survey_.has_extent && !segments->empty() && segments->front() > (*after)->oldest) {
    miss((*after)->oldest);
  }
  for (std::size_t i = 0; i < segments->size(); ++i) {
    Place place{.first = (*segments)[i], .sealed_at = std::nullopt};
    if (i + 1 < segments->size()) place.sealed_at = (*segments)[i + 1];
    if (const auto taken = take_file(place); !taken) return taken.error();
  }
  if (extent_ && (segments->empty() || segments->back() < extent_->newest)) miss(extent_->newest);
  return std::move(survey_);
}

}  // namespace

std::string text_of(const Damage& damage) {
  std::string text = damage.file;
  if (damage.at && damage.end) {
    text += ", bytes " + std::to_string(*damage.at) + " to " + std::to_string(*damage.end);
  } else if (damage.at) {
    text += " at offset " + std::to_string(*damage.at);
  }
  return text + ": " + damage.what;
}

Outcome<Survey> survey(FileSystem& files, const std::string& directory, Purpose purpose,
                       const BatchTaker& take) {
  return Surveyor(files, directory, purpose, take).run();
}

Problem refusal_of(const std::string& directory, const Damage& found) {
  if (found.what == kIsMissing) return missing(directory, found.file);
  return damage(directory + "/" + found.file, found.at.value_or(0), found.what);
}

}  // namespace millrace::journal
