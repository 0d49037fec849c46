#include "journal/file/log_starts.hpp"

#include <algorithm>
#include <iterator>

#include "journal/file/log_files.hpp"

namespace millrace::journal {
namespace {

constexpr std::uint64_t kStartsBytesMax = kStartsMax * kStartBytes;

/// In place, since a full disk has no room for a second file. As a rule all but the last one are
/// there already: these bytes stay what they are, also when the power fails. Where the oldest one
/// was forgotten all are moved, and a power cut may leave none.
Outcome<Done> store(FileSystem& files, const std::string& path, bool exists,
                    const LogStarts& starts) {
  auto file = exists ? files.open(path, FileSystem::Access::kReadWrite) : files.create(path);
  if (!file) return file.error();
  const Outcome<std::uint64_t> size = (*file)->size();
  if (!size) return size.error();
  const std::string bytes = starts.bytes();
  // Before the write: what is forgotten must not follow what is new.
  if (*size > bytes.size()) {
    const std::uint64_t kept = bytes.size() - std::min(bytes.size(), kStartBytes);
    if (auto cut = (*file)->truncate(kept); !cut) return cut;
  }
  const std::string_view part = bytes;
  const Outcome<Done> written = (*file)->write(0, {&part, 1});
  return written ? (*file)->sync() : written;
}

Outcome<Done> remove_starts(FileSystem& files, const std::string& directory) {
  const Outcome<LogNames> names = names_in(files, directory);
  if (!names) return names.error();
  if (!names->has_starts) return Done{};
  const Outcome<Done> removed = files.remove(directory + "/" + kStartsName);
  return removed ? files.sync_directory(directory) : removed;
}

}  // namespace

LogStarts LogStarts::of(std::string_view bytes) {
  LogStarts found;
  if (bytes.size() % kStartBytes != 0) return found;
  for (; !bytes.empty(); bytes.remove_prefix(kStartBytes)) {
    const auto start = decode_start(bytes.substr(0, kStartBytes));
    if (!start) return {};
    found.add(*start);
  }
  return found;
}

std::string LogStarts::bytes() const {
  std::string bytes;
  for (const LogStart& start : starts_) {
    const auto encoded = encode_start(start);
    bytes.append(encoded.data(), encoded.size());
  }
  return bytes;
}

void LogStarts::add(const LogStart& start) {
  const auto is_void = [&] {
    if (starts_.empty() || starts_.back().at < start.at) return false;
    // The first one stays: a backup of a log that nobody had written to names it.
    return starts_.size() > 1 || starts_.back().at > start.at;
  };
  while (is_void()) starts_.pop_back();
  if (starts_.size() == kStartsMax) forget_oldest();
  starts_.push_back(start);
}

std::optional<std::uint64_t> LogStarts::writer_until(Lsn end) const {
  const auto later =
      std::ranges::find_if(starts_, [&](const LogStart& start) { return start.at >= end; });
  if (later != starts_.begin()) return std::prev(later)->id;
  const bool is_where_it_ends = !starts_.empty() && starts_.front().at == end;
  return is_where_it_ends ? std::optional(starts_.front().id) : std::nullopt;
}

Outcome<LogStarts> starts_in(FileSystem& files, const std::string& directory, bool exists) {
  if (!exists) return LogStarts();
  const auto bytes = read_up_to(files, directory + "/" + kStartsName, kStartsBytesMax + 1);
  if (!bytes) return bytes.error();
  return bytes->size() > kStartsBytesMax ? LogStarts() : LogStarts::of(*bytes);
}

Problem unusable_starts(const Problem& problem) {
  return Problem{problem.text +
                 ": remove it to start without it; then a backup cannot be continued"};
}

Outcome<Done> note_start(FileSystem& files, const std::string& directory, bool exists,
                         const LogStart& start) {
  const std::string path = directory + "/" + kStartsName;
  Outcome<LogStarts> known = starts_in(files, directory, exists);
  if (!known) return known.error();
  LogStarts& starts = *known;
  const bool is_begun = !starts.is_empty();
  starts.add(start);
  Outcome<Done> done = store(files, path, exists, starts);
  if (!done && done.error().is_out_of_space && is_begun) {
    // With one less it is no longer than it was.
    starts.forget_oldest();
    done = store(files, path, exists, starts);
  }
  if (done) return exists ? done : files.sync_directory(directory);
  // One that lacks a start would say that the log went on as it did not.
  return done.error().is_out_of_space ? remove_starts(files, directory) : done;
}

}  // namespace millrace::journal
