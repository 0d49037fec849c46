#include "journal/file/log_starts.hpp"

#include <algorithm>
#include <iterator>
#include <memory>

#include "journal/file/log_files.hpp"
#include "journal/file/log_names.hpp"

namespace millrace::journal {
namespace {

/// Where the start is written, after what cannot be read was cut off.
Outcome<Done> append(File& file, const LogStart& start) {
  const Outcome<std::uint64_t> size = file.size();
  if (!size) return size.error();
  std::string bytes(std::min(*size, kStartsBytesMax), '\0');
  const Outcome<std::size_t> got = file.read(0, bytes);
  if (!got) return got.error();
  bytes.resize(*got);
  const std::uint64_t known = LogStarts::of(bytes).bytes();
  const std::uint64_t at = known + kStartBytes <= kStartsBytesMax ? known : 0;
  if (*size > at) {
    if (auto cut = file.truncate(at); !cut) return cut;
  }
  const auto encoded = encode_start(start);
  const std::string_view part(encoded.data(), encoded.size());
  const Outcome<Done> written = file.write(at, {&part, 1});
  return written ? file.sync() : written;
}

}  // namespace

LogStarts LogStarts::of(std::string_view bytes) {
  LogStarts found;
  while (bytes.size() >= kStartBytes) {
    const auto start = decode_start(bytes.substr(0, kStartBytes));
    if (!start && bytes.size() > kStartBytes) return {};
    if (!start) break;
    // The log ended here: what was written after it is lost, or there never was anything.
    auto& starts = found.starts_;
    while (!starts.empty() && starts.back().at >= start->at) starts.pop_back();
    starts.push_back(*start);
    found.bytes_ += kStartBytes;
    bytes.remove_prefix(kStartBytes);
  }
  return found;
}

std::optional<std::uint64_t> LogStarts::writer_until(Lsn end) const {
  const auto later =
      std::ranges::find_if(starts_, [&](const LogStart& start) { return start.at >= end; });
  if (later == starts_.begin()) return std::nullopt;
  return std::prev(later)->id;
}

Outcome<LogStarts> starts_in(FileSystem& files, const std::string& directory) {
  const Outcome<LogNames> names = names_in(files, directory);
  if (!names) return names.error();
  if (!names->has_starts) return LogStarts();
  const Outcome<std::string> bytes = contents_of(files, directory + "/" + kStartsName);
  if (!bytes) return bytes.error();
  return LogStarts::of(*bytes);
}

Outcome<Done> note_start(FileSystem& files, const std::string& directory, bool exists,
                         const LogStart& start) {
  const std::string path = directory + "/" + kStartsName;
  auto file = exists ? files.open(path, FileSystem::Access::kReadWrite) : files.create(path);
  Outcome<Done> done = file ? append(**file, start) : file.error();
  if (done) return exists ? done : files.sync_directory(directory);
  if (!done.error().is_out_of_space) return done;
  if (!file && !exists) return Done{};
  // One that lacks a start would say that the log went on as it did not.
  done = files.remove(path);
  return done ? files.sync_directory(directory) : done;
}

}  // namespace millrace::journal
