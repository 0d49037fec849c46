#include "tools/backup/new_segments.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "journal/file/log_format.hpp"
#include "tools/backup/segment_batches.hpp"

namespace millrace::tools {
namespace {

Outcome<ReadFile> facts_of(std::string_view bytes, Lsn first, const std::string& path) {
  ReadFile read{.file = {.first = first, .bytes = bytes.size(), .sha256 = sha256_of(bytes)}};
  const auto seen = see_batches(bytes, first, path, [&](const SeenBatch& batch) {
    if (batch.told) read.told = batch.told;
    // Less than any time is none.
    read.latest = std::max(read.latest, batch.told);
    return true;
  });
  if (!seen) return seen.error();
  return read;
}

/// An earlier try may have put it there.
bool has_part(const std::string& path, const journal::BackupPart& part) {
  std::error_code error;
  if (part.is_done && std::filesystem::equivalent(path, part.path, error)) return true;
  if (std::filesystem::file_size(path, error) != part.bytes || error) return false;
  const auto there = read_start(path, part.bytes);
  const auto here = read_start(part.path, part.bytes);
  return there && here && *there == *here;
}

}  // namespace

Outcome<ReadFile> read_file(const std::string& path, Lsn first, std::uint64_t bytes) {
  const Outcome<std::string> read = read_start(path, bytes);
  if (!read) return read.error();
  return facts_of(*read, first, path);
}

// ---- what is new --------------------------------------------------------------------------------

Problem NewSegments::differs(const std::string& path) const {
  return Problem{path + " does not go on where " + name_ +
                 " ends: the journal has lost what it had then, or is another one; make a full "
                 "backup in a new directory"};
}

Outcome<Done> NewSegments::begin() {
  is_first_ = true;
  taken_bytes_ = 0;
  return Done{};
}

Outcome<Done> NewSegments::put(const journal::BackupPart& part) {
  const Outcome<bool> wanted = is_new(part);
  if (!wanted) return wanted.error();
  is_first_ = false;
  if (!*wanted) return Done{};
  Outcome<Done> taken = take(part);
  taken_bytes_ += part.bytes;
  progress_.show(taken_bytes_);
  return taken;
}

Outcome<bool> NewSegments::is_new(const journal::BackupPart& part) const {
  if (since_ == nullptr) return true;
  const Lsn first = part.header.first;
  const BackupFile& last = since_->files.back();
  if (first == last.first) return is_longer(part);
  if (first > last.first) {
    // Where the first one comes later, compaction has removed what the earlier backup ends with.
    if (is_first_ && first < last.end()) return differs(part.path);
    return true;
  }
  const BackupFile* const known = since_->find(first);
  if (known == nullptr || known->bytes != part.bytes) return differs(part.path);
  return false;
}

/// The file in which the earlier backup ends. If it begins as it did then, so does the log.
Outcome<bool> NewSegments::is_longer(const journal::BackupPart& part) const {
  const BackupFile& last = since_->files.back();
  if (part.bytes < last.bytes) return differs(part.path);
  const Outcome<std::string> begin = read_start(part.path, last.bytes);
  if (!begin) return begin.error();
  if (sha256_of(*begin) != last.sha256) return differs(part.path);
  return part.bytes > last.bytes;
}

Outcome<Done> NewSegments::check_end(const std::vector<journal::BackupPart>& parts) const {
  const journal::BackupPart& part = parts.back();
  if (since_ == nullptr || part.header.first >= since_->files.back().first) return Done{};
  return differs(part.path);
}

// ---- to a directory -----------------------------------------------------------------------------

Outcome<Done> NewFiles::begin() {
  taken_.clear();
  return NewSegments::begin();
}

Outcome<Done> NewFiles::take(const journal::BackupPart& part) {
  const std::string path = directory_ + "/" + journal::segment_name(part.header.first);
  taken_.push_back(part);
  if (has_part(path, part)) return Done{};
  journal::PosixFileSystem files;
  const std::string draft = journal::draft_of(path);
  std::error_code error;
  std::filesystem::remove(draft, error);
  const Outcome<Done> placed = journal::place(files, part, draft);
  if (!placed) return placed;
  // In place of a shorter one: what that had is in this one too.
  std::filesystem::rename(draft, path, error);
  return error ? Outcome<Done>(Problem{path + ": " + error.message()}) : Done{};
}

Outcome<std::vector<ReadFile>> NewFiles::read() const {
  std::vector<ReadFile> files;
  std::uint64_t all = 0;
  for (const journal::BackupPart& part : taken_) all += part.bytes;
  ProgressLine progress("read", all, ProgressLine::Unit::kBytes);
  std::uint64_t done = 0;
  for (const journal::BackupPart& part : taken_) {
    const Lsn first = part.header.first;
    auto file = read_file(directory_ + "/" + journal::segment_name(first), first, part.bytes);
    if (!file) return file.error();
    files.push_back(std::move(*file));
    progress.show(done += part.bytes);
  }
  return files;
}

// ---- as a stream --------------------------------------------------------------------------------

Outcome<Done> SentFiles::begin() {
  sent_.clear();
  return NewSegments::begin();
}

Outcome<Done> SentFiles::take(const journal::BackupPart& part) {
  const Outcome<std::string> bytes = read_start(part.path, part.bytes);
  if (!bytes) return bytes.error();
  Outcome<ReadFile> read = facts_of(*bytes, part.header.first, part.path);
  if (!read) return read.error();
  sent_.push_back(std::move(*read));
  return out_.add(journal::segment_name(part.header.first), *bytes);
}

}  // namespace millrace::tools
