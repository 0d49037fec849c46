#include "journal/file/spare.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

#include "journal/file/log_files.hpp"

namespace millrace::journal {
namespace {

constexpr std::uint64_t kStepBytesMax = std::uint64_t{64} << 10;
constexpr std::uint64_t kStepsMin = 48;

/// Of what is free, this part is left: file systems need some to note the rest.
constexpr std::uint64_t kLeftPart = 64;

}  // namespace

Spare::Spare(FileSystem& files, std::string directory, std::uint64_t piece_bytes,
             std::uint64_t pieces)
    : files_(files),
      directory_(std::move(directory)),
      piece_bytes_(piece_bytes),
      bytes_(piece_bytes * pieces),
      step_(std::min(kStepBytesMax, bytes_ / kStepsMin)),
      is_whole_(bytes_ == 0) {}

/// What a former process has left is gone on with.
Outcome<Done> Spare::open() {
  if (std::exchange(is_open_, true)) return Done{};
  const Outcome<std::vector<std::string>> names = files_.list(directory_);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    if (!is_numbered(name, kSparePrefix)) continue;
    const Outcome<Done> opened = open_piece(directory_ + "/" + name);
    if (!opened) return opened;
  }
  return Done{};
}

Outcome<Done> Spare::open_piece(const std::string& path) {
  const Outcome<bool> is_shared = files_.has_other_name(path);
  if (!is_shared) return is_shared.error();
  if (*is_shared || lacking() == 0) return files_.remove(path);
  Outcome<std::unique_ptr<File>> file = files_.open(path, FileSystem::Access::kReadWrite);
  if (!file) return file.error();
  const Outcome<std::uint64_t> size = (*file)->size();
  if (!size) return size.error();
  return add({.path = path, .file = std::move(*file), .bytes = *size, .used_bytes = *size});
}

/// No more of it than a piece has; and of what is too much then, those go that are short.
Outcome<Done> Spare::add(Piece piece) {
  held_ += piece.bytes;
  pieces_.push_back(std::move(piece));
  if (pieces_.back().bytes > piece_bytes_) {
    const Outcome<Done> done = cut(pieces_.back(), piece_bytes_);
    if (!done) return done;
  }
  return held_ > bytes_ ? shed(held_ - bytes_) : Outcome<Done>(Done{});
}

/// Of the shortest, so that those that can become segments stay.
Outcome<Done> Spare::shed(std::uint64_t bytes) {
  while (bytes > 0 && !pieces_.empty()) {
    Piece& shortest = *std::ranges::min_element(pieces_, is_shorter);
    const std::uint64_t part = std::min(bytes, shortest.bytes);
    const Outcome<Done> done = cut(shortest, shortest.bytes - part);
    if (!done) return done;
    bytes -= part;
  }
  return Done{};
}

Outcome<Done> Spare::cut(Piece& piece, std::uint64_t bytes) {
  held_ -= piece.bytes - bytes;
  piece.bytes = bytes;
  piece.used_bytes = std::min(piece.used_bytes, bytes);
  if (bytes > 0) return piece.file->truncate(bytes);
  const std::string path = piece.path;
  std::erase_if(pieces_, [&](const Piece& each) { return each.path == path; });
  return files_.remove(path);
}

std::string Spare::unused_path() const {
  for (std::uint64_t number = 1;; ++number) {
    std::string path = directory_ + "/";
    path += kSparePrefix;
    path += std::to_string(number);
    const auto has_it = [&](const Piece& piece) { return piece.path == path; };
    if (std::none_of(pieces_.begin(), pieces_.end(), has_it)) return path;
  }
}

/// Leaves it as it is where there is no room for more.
Outcome<Done> Spare::grow(std::uint64_t bytes) {
  while (bytes > 0) {
    const std::uint64_t before = held_;
    const Outcome<bool> has_grown = grow_one(bytes);
    if (!has_grown) return has_grown.error();
    if (!*has_grown) break;
    bytes -= held_ - before;
  }
  return Done{};
}

/// The first piece that is short, or a new one.
Outcome<bool> Spare::grow_one(std::uint64_t bytes) {
  const auto is_short = [&](const Piece& piece) { return piece.bytes < piece_bytes_; };
  auto piece = std::find_if(pieces_.begin(), pieces_.end(), is_short);
  if (piece == pieces_.end()) {
    const std::string path = unused_path();
    Outcome<std::unique_ptr<File>> file = files_.create(path);
    if (!file && file.error().is_out_of_space) return false;
    if (!file) return file.error();
    pieces_.push_back({.path = path, .file = std::move(*file), .bytes = 0, .used_bytes = 0});
    piece = std::prev(pieces_.end());
  }
  const std::uint64_t longer = std::min(piece_bytes_, piece->bytes + bytes);
  const Outcome<Done> grown = piece->file->preallocate(longer);
  if (grown) {
    held_ += longer - piece->bytes;
    piece->bytes = longer;
    return true;
  }
  if (!grown.error().is_out_of_space) return grown.error();
  // Finding room may have failed half-way.
  const Outcome<Done> undone = cut(*piece, piece->bytes);
  return undone ? Outcome<bool>(false) : undone.error();
}

Outcome<bool> Spare::take(std::uint64_t more) {
  if (is_whole_) return true;
  const Outcome<Done> opened = open();
  if (!opened) return opened.error();
  const Outcome<std::uint64_t> free = files_.free_space(directory_);
  if (!free) return free.error();
  if (*free < more + lacking()) return false;
  const Outcome<Done> dropped = drop_surplus();
  if (!dropped) return dropped.error();
  const Outcome<Done> grown = grow(lacking());
  if (!grown) return grown.error();
  is_whole_ = lacking() == 0;
  return is_whole_;
}

/// Many short pieces may be as long together as it is, and are no segments.
Outcome<Done> Spare::drop_surplus() {
  while (pieces_.size() > bytes_ / piece_bytes_) {
    const Outcome<Done> done = cut(*std::ranges::min_element(pieces_, is_shorter), 0);
    if (!done) return done;
  }
  return Done{};
}

Outcome<Done> Spare::regain() {
  if (lacking() == 0) return Done{};
  const Outcome<std::uint64_t> free = files_.free_space(directory_);
  if (!free) return free.error();
  const std::uint64_t regained = std::min(lacking(), *free - *free / kLeftPart);
  if (regained < std::min(lacking(), step_)) return Done{};
  return grow(regained);
}

bool Spare::is_shorter(const Piece& one, const Piece& other) {
  return one.bytes < other.bytes;
}

std::vector<std::uint64_t> Spare::lengths() const {
  std::vector<std::uint64_t> lengths;
  for (const Piece& piece : pieces_) lengths.push_back(piece.bytes);
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  return lengths;
}

Outcome<bool> Spare::give_up(std::uint64_t bytes) {
  is_whole_ = bytes_ == 0;
  if (pieces_.empty()) return false;
  const Outcome<Done> done = shed(std::max(bytes, step_));
  return done ? Outcome<bool>(true) : done.error();
}

Outcome<std::optional<RoomyFile>> Spare::lend(const std::string& path, std::string_view header,
                                              std::uint64_t bytes) {
  const auto longest = std::max_element(pieces_.begin(), pieces_.end(), is_shorter);
  if (longest == pieces_.end() || longest->bytes < bytes) return std::optional<RoomyFile>();
  is_whole_ = false;
  Outcome<Done> done = write_zeros(*longest->file, 0, longest->used_bytes);
  if (done) done = longest->file->write(0, {&header, 1});
  if (done) done = longest->file->sync();
  if (done) done = files_.rename(longest->path, path);
  if (done) done = files_.sync_directory(directory_);
  if (!done) return done.error();
  // Problems are to name the file as it is called now.
  Outcome<std::unique_ptr<File>> file = files_.open(path, FileSystem::Access::kReadWrite);
  if (!file) return file.error();
  RoomyFile lent{.file = std::move(*file), .bytes = longest->bytes};
  held_ -= lent.bytes;
  pieces_.erase(longest);
  return std::optional<RoomyFile>(std::move(lent));
}

/// What is in it may be needed until the name is gone for good.
Outcome<bool> Spare::adopt(const std::string& path) {
  if (lacking() == 0) return false;
  const std::string piece = unused_path();
  Outcome<Done> done = files_.rename(path, piece);
  if (done) done = files_.sync_directory(directory_);
  if (done) done = open_piece(piece);
  return done ? Outcome<bool>(true) : done.error();
}

}  // namespace millrace::journal
