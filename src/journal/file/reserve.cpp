#include "journal/file/reserve.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.hpp"
#include "journal/file/log_files.hpp"

namespace millrace::journal {
namespace {

/// At least this much is given up or regained at a time, or a 48th of the reserve if that is less:
/// little, so that a small batch costs little of it.
constexpr std::uint64_t kStepBytesMax = std::uint64_t{64} << 10;
constexpr std::uint64_t kStepsMin = 48;

/// One part in so many of the free space is left: file systems need some to keep account of the
/// rest.
constexpr std::uint64_t kLeftPart = 64;

/// How many files stay open. A full disk may leave many short ones, and descriptors are few.
constexpr std::size_t kOpenFilesMax = 4;

}  // namespace

Reserve::Reserve(FileSystem& files, std::string directory, std::uint64_t segment_bytes,
                 std::uint64_t segments)
    : files_(files),
      directory_(std::move(directory)),
      segment_bytes_(segment_bytes),
      bytes_(segment_bytes * segments),
      step_(std::min(kStepBytesMax, bytes_ / kStepsMin)),
      is_whole_(bytes_ == 0) {}

Outcome<Done> Reserve::resume(const std::vector<std::string>& left) {
  if (bytes_ == 0) return Done{};
  for (const std::string& name : left) {
    const Outcome<Done> opened = open_file(directory_ + "/" + name);
    if (!opened) return opened;
  }
  return Done{};
}

Outcome<Done> Reserve::open_file(const std::string& path) {
  // A backup may have linked the segment that this file was: then its bytes must not change.
  const Outcome<bool> is_shared = files_.has_other_name(path);
  if (!is_shared) return is_shared.error();
  if (*is_shared || lacking() == 0) return files_.remove(path);
  Outcome<std::unique_ptr<File>> file = files_.open(path, FileSystem::Access::kReadWrite);
  if (!file && file.error().is_out_of_space) return files_.remove(path);
  if (!file) return file.error();
  const Outcome<std::uint64_t> size = (*file)->size();
  if (!size) return size.error();
  // All of it may hold old bytes: it was a segment, or a former process has left it.
  return add({.path = path, .file = std::move(*file), .bytes = *size, .used_bytes = *size});
}

Outcome<Done> Reserve::open_again(ReservedFile& reserved) {
  if (reserved.file) return Done{};
  auto file = files_.open(reserved.path, FileSystem::Access::kReadWrite);
  if (!file) return file.error();
  reserved.file = std::move(*file);
  return Done{};
}

void Reserve::close_surplus() {
  for (std::size_t i = kOpenFilesMax; i < reserved_.size(); ++i) reserved_[i].file.reset();
}

/// A reserved file is no longer than a segment. When the reserve then has too much, its shortest
/// files are cut.
Outcome<Done> Reserve::add(ReservedFile reserved) {
  held_ += reserved.bytes;
  reserved_.push_back(std::move(reserved));
  if (reserved_.back().bytes > segment_bytes_) {
    const Outcome<Done> done = cut(reserved_.back(), segment_bytes_);
    if (!done) return done;
  }
  const Outcome<Done> shed_surplus = held_ > bytes_ ? shed(held_ - bytes_) : Done{};
  close_surplus();
  return shed_surplus;
}

/// From the shortest file on, so that those which are long enough for a segment stay.
Outcome<Done> Reserve::shed(std::uint64_t bytes) {
  while (bytes > 0 && !reserved_.empty()) {
    // A long file can become a segment. Short ones only hold space.
    ReservedFile& shortest = *std::ranges::min_element(reserved_, is_shorter);
    const std::uint64_t part = std::min(bytes, shortest.bytes);
    const Outcome<Done> done = cut(shortest, shortest.bytes - part);
    if (!done) return done;
    bytes -= part;
  }
  return Done{};
}

Outcome<Done> Reserve::cut(ReservedFile& reserved, std::uint64_t bytes) {
  CHECK(bytes <= reserved.bytes);
  if (bytes > 0) {
    const Outcome<Done> opened = open_again(reserved);
    if (!opened && opened.error().is_out_of_space) return cut(reserved, 0);
    if (!opened) return opened;
  }
  held_ -= reserved.bytes - bytes;
  reserved.bytes = bytes;
  reserved.used_bytes = std::min(reserved.used_bytes, bytes);
  if (bytes > 0) return reserved.file->truncate(bytes);
  const std::string path = reserved.path;
  // `reserved` is gone after this line: its path was copied before.
  std::erase_if(reserved_, [&](const ReservedFile& each) { return each.path == path; });
  return files_.remove(path);
}

std::string Reserve::unused_path() const {
  for (std::uint64_t number = 1;; ++number) {
    std::string path = directory_ + "/";
    path += kReservedPrefix;
    path += std::to_string(number);
    const auto has_it = [&](const ReservedFile& reserved) { return reserved.path == path; };
    if (std::none_of(reserved_.begin(), reserved_.end(), has_it)) return path;
  }
}

/// Stops, without a problem, where the disk has no more room.
Outcome<Done> Reserve::grow(std::uint64_t bytes) {
  while (bytes > 0) {
    const std::uint64_t before = held_;
    const Outcome<bool> has_grown = grow_one(bytes);
    if (!has_grown) return has_grown.error();
    if (!*has_grown) break;
    bytes -= held_ - before;
  }
  close_surplus();
  return Done{};
}

/// Makes the first file that is too short longer, or a new one.
Outcome<bool> Reserve::grow_one(std::uint64_t bytes) {
  const auto is_short = [&](const ReservedFile& each) { return each.bytes < segment_bytes_; };
  auto reserved = std::find_if(reserved_.begin(), reserved_.end(), is_short);
  if (reserved == reserved_.end()) {
    const std::string path = unused_path();
    Outcome<std::unique_ptr<File>> file = files_.create(path);
    if (!file && file.error().is_out_of_space) return false;
    if (!file) return file.error();
    reserved_.push_back({.path = path, .file = std::move(*file), .bytes = 0, .used_bytes = 0});
    reserved = std::prev(reserved_.end());
  }
  const Outcome<Done> opened = open_again(*reserved);
  if (!opened && opened.error().is_out_of_space) return false;
  if (!opened) return opened.error();
  const std::uint64_t longer = std::min(segment_bytes_, reserved->bytes + bytes);
  const Outcome<Done> grown = reserved->file->preallocate(longer);
  if (grown) {
    held_ += longer - reserved->bytes;
    reserved->bytes = longer;
    return true;
  }
  if (!grown.error().is_out_of_space) return grown.error();
  // The file system may have found part of the room before it failed, and kept it.
  const Outcome<Done> undone = cut(*reserved, reserved->bytes);
  return undone ? Outcome<bool>(false) : undone.error();
}

Outcome<bool> Reserve::take(std::uint64_t more) {
  if (is_whole_) return true;
  const Outcome<std::uint64_t> free = files_.free_space(directory_);
  if (!free) return free.error();
  // Only when `more` would remain: otherwise the reserve would take the room that the next segment
  // needs, and the disk would be full again at once.
  if (*free < more + lacking()) return false;
  // A disk that was full may have left many short files.
  const Outcome<Done> dropped = drop_surplus();
  if (!dropped) return dropped.error();
  const Outcome<Done> grown = grow(lacking());
  if (!grown) return grown.error();
  is_whole_ = lacking() == 0;
  return is_whole_;
}

/// Many short files may be as long together as the reserve must be, and none can become a segment.
Outcome<Done> Reserve::drop_surplus() {
  while (reserved_.size() > bytes_ / segment_bytes_) {
    const Outcome<Done> done = cut(*std::ranges::min_element(reserved_, is_shorter), 0);
    if (!done) return done;
  }
  return Done{};
}

Outcome<Done> Reserve::regain() {
  if (lacking() == 0) return Done{};
  const Outcome<std::uint64_t> free = files_.free_space(directory_);
  if (!free) return free.error();
  const std::uint64_t regained = std::min(lacking(), *free - *free / kLeftPart);
  // A few bytes are not worth the calls: the disk is looked at once a second.
  if (regained < std::min(lacking(), step_)) return Done{};
  return grow(regained);
}

bool Reserve::is_shorter(const ReservedFile& one, const ReservedFile& other) {
  return one.bytes < other.bytes;
}

std::vector<std::uint64_t> Reserve::lengths() const {
  std::vector<std::uint64_t> lengths;
  for (const ReservedFile& reserved : reserved_) lengths.push_back(reserved.bytes);
  // In the order in which `lend` takes them.
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  return lengths;
}

std::string Reserve::lack_of_room(std::uint64_t more) const {
  const Outcome<std::uint64_t> free = files_.free_space(directory_);
  const std::uint64_t needed = lacking() + more;
  if (!free || *free >= needed) return {};
  return std::to_string(*free) + " bytes are free, and " + std::to_string(needed) + " are needed";
}

Outcome<bool> Reserve::give_up(std::uint64_t bytes) {
  // A reserve of nothing is always whole: then no disk counts as full before a write fails.
  is_whole_ = bytes_ == 0;
  if (reserved_.empty()) return false;
  const Outcome<Done> done = shed(std::max(bytes, step_));
  close_surplus();
  return done ? Outcome<bool>(true) : done.error();
}

Outcome<std::optional<RoomyFile>> Reserve::lend(const std::string& path, std::string_view header,
                                                std::uint64_t bytes) {
  const auto longest = std::max_element(reserved_.begin(), reserved_.end(), is_shorter);
  // The longest first: short files are good for giving up, not for segments.
  if (longest == reserved_.end() || longest->bytes < bytes) return std::optional<RoomyFile>();
  // Before anything is changed: without a descriptor this is tried again.
  if (const Outcome<Done> opened = open_again(*longest); !opened) return opened.error();
  is_whole_ = false;
  // The header is durable before the name: a file with a segment's name and old contents would
  // refuse the next start as damaged.
  Outcome<Done> done = write_zeros(*longest->file, 0, longest->used_bytes);
  if (done) done = longest->file->write(0, {&header, 1});
  if (done) done = longest->file->sync();
  if (done) done = files_.rename(longest->path, path);
  if (done) done = files_.sync_directory(directory_);
  if (!done) return done.error();
  longest->file->set_path(path);
  RoomyFile lent{.file = std::move(longest->file), .bytes = longest->bytes};
  held_ -= lent.bytes;
  reserved_.erase(longest);
  return std::optional<RoomyFile>(std::move(lent));
}

/// The file is changed only after its old name is gone for good: until then a start may need it.
Outcome<bool> Reserve::adopt(const std::string& path) {
  // Adopting a segment that nobody needs would keep its room from other programs.
  if (lacking() == 0) return false;
  const std::string reserved = unused_path();
  Outcome<Done> done = files_.rename(path, reserved);
  if (done) done = files_.sync_directory(directory_);
  if (done) done = open_file(reserved);
  return done ? Outcome<bool>(true) : done.error();
}

}  // namespace millrace::journal
