#include "server/check.hpp"

#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/ledger.hpp"
#include "core/record.hpp"
#include "journal/backup.hpp"
#include "journal/file_journal.hpp"
#include "journal/file_system.hpp"
#include "journal/log_reader.hpp"
#include "journal/salvage.hpp"

namespace millrace::server {
namespace {

constexpr std::array<std::string_view, kJobStateCount> kStateNames = {
    "scheduled", "ready", "reserved", "retrying", "dead"};

/// What is counted while the log is read.
struct Contents {
  std::uint64_t batches = 0;
  std::uint64_t bytes = 0;
  Ledger ledger;
};

void append_line(std::string_view name, const std::string& value, std::string& out) {
  out.append(name).append(": ").append(value).append("\n");
}

std::string tell_states(const Store& store) {
  std::string text;
  for (std::size_t i = 0; i < kJobStateCount; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(store.count(static_cast<JobState>(i))) + " ";
    text += kStateNames[i];
  }
  return text;
}

std::string tell_queue(const Queue& queue) {
  return std::to_string(queue.ready.size()) + " ready, " + std::to_string(queue.reserved_count) +
         " reserved, " + std::to_string(queue.delayed.size()) + " delayed, " +
         std::to_string(queue.dead.size()) + " dead" +
         (queue.paused_until == kNever ? ", paused" : "");
}

std::string report(const journal::LogReader& reader, const journal::LogEnd& end,
                   const Contents& contents) {
  std::string out;
  append_line("segments", std::to_string(reader.segments().size()), out);
  append_line("log ends at", std::to_string(end.end), out);
  append_line("torn tail",
              end.cut_bytes == 0 ? "none" : std::to_string(end.cut_bytes) + " bytes, to be cut",
              out);
  append_line("batches", std::to_string(contents.batches), out);
  append_line("bytes of records", std::to_string(contents.bytes), out);
  const Store& store = contents.ledger.store();
  append_line("jobs", tell_states(store), out);
  for (const auto& [created, id] : store.queues()) {
    const Queue& queue = store.queue(id);
    append_line("queue " + queue.name, tell_queue(queue), out);
  }
  return out + "no damage\n";
}

/// True when `path`, which need not exist, is the directory or something in it, by whatever name.
bool lies_in(const std::string& path, const std::string& directory) {
  std::error_code error;
  std::filesystem::path place = std::filesystem::weakly_canonical(path, error);
  for (; !error && place.has_relative_path(); place = place.parent_path()) {
    std::error_code missing;
    if (std::filesystem::equivalent(place, directory, missing)) return true;
  }
  return false;
}

/// An empty directory, to copy a journal to. It is as it was before, or gone, when this ends
/// without a call of `keep`.
class Target {
 public:
  /// A problem when it lies in `source`, cannot be made, or holds something.
  static Outcome<Target> make(journal::FileSystem& files, const std::string& path,
                              const std::string& source) {
    if (const auto readable = files.list(source); !readable) return readable.error();
    if (lies_in(path, source)) return Problem{path + " must not lie in " + source};
    std::error_code error;
    const bool was_there = std::filesystem::exists(path, error);
    if (const auto made = files.ensure_directory(path); !made) return made.error();
    const auto names = files.list(path);
    if (!names) return names.error();
    if (!names->empty()) return Problem{path + " is not empty"};
    return Target(path, was_there);
  }

  Target(Target&& other) noexcept
      : path_(std::exchange(other.path_, {})), was_there_(other.was_there_) {}
  Target& operator=(Target&&) = delete;
  ~Target() {
    if (path_.empty()) return;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(path_, ignored)) {
      std::filesystem::remove(entry.path(), ignored);
    }
    if (!was_there_) std::filesystem::remove(path_, ignored);
  }

  void keep() { path_.clear(); }

 private:
  Target(std::string path, bool was_there) : path_(std::move(path)), was_there_(was_there) {}

  std::string path_;  ///< empty: it stays
  bool was_there_;
};

/// A problem when a server would not read it.
Outcome<Done> read_batch(std::string_view batch) {
  while (!batch.empty()) {
    if (const Outcome<Record> record = decode(batch); !record) return record.error();
  }
  return Done{};
}

/// Copies every batch that is whole, and answers what was lost, a line each.
Outcome<std::vector<std::string>> copy_whole(journal::FileSystem& files,
                                             const std::string& directory,
                                             const std::string& new_directory) {
  constexpr std::uint64_t kWaitingBytesMax = std::uint64_t{8} << 20;
  std::optional<Problem> failure;
  journal::FileJournalOptions options;
  options.is_stepped = true;
  options.on_failure = [&](const Problem& problem) { failure = problem; };
  auto target = journal::FileJournal::open(files, new_directory, std::move(options));
  if (!target) return target.error();
  journal::FileJournal& copy = **target;
  const auto ignore = [](std::string_view, Lsn) -> Outcome<Done> { return Done{}; };
  if (auto begun = copy.replay(ignore); !begun) return begun.error();
  const auto write_all = [&]() -> Outcome<Done> {
    copy.sync();
    if (failure) return *failure;
    if (copy.pending_bytes() > 0) return Problem{"no room for a copy in " + new_directory};
    return Done{};
  };
  std::vector<std::string> losses;
  const auto found =
      journal::salvage(files, directory, [&](std::string_view batch, Lsn begin) -> Outcome<Done> {
        if (const auto read = read_batch(batch); !read) {
          losses.push_back("the batch at " + std::to_string(begin) + ": " + read.error().text);
          return Done{};
        }
        copy.append(std::string(batch));
        return copy.pending_bytes() > kWaitingBytesMax ? write_all() : Done{};
      });
  if (!found) return found.error();
  if (const auto written = write_all(); !written) return written.error();
  losses.insert(losses.begin(), found->losses.begin(), found->losses.end());
  return losses;
}

}  // namespace

Outcome<std::string> check_journal(const std::string& directory) {
  journal::PosixFileSystem files;
  const Outcome<journal::LogReader> reader = journal::LogReader::open(files, directory);
  if (!reader) return reader.error();
  if (reader->segments().empty() && !reader->begun()) {
    return Problem{directory + " holds no journal"};
  }
  Contents contents;
  const Outcome<journal::LogEnd> end =
      reader->replay([&](std::string_view batch, Lsn begin) -> Outcome<Done> {
        ++contents.batches;
        contents.bytes += batch.size();
        return contents.ledger.replay(batch, begin);
      });
  if (!end) return end.error();
  return report(*reader, *end, contents);
}

Outcome<std::string> salvage_journal(const std::string& directory,
                                     const std::string& new_directory) {
  journal::PosixFileSystem files;
  Outcome<Target> made = Target::make(files, new_directory, directory);
  if (!made) return made.error();
  const auto losses = copy_whole(files, directory, new_directory);
  if (!losses) return losses.error();
  std::string out;
  for (const std::string& loss : *losses) append_line("lost", loss, out);
  const Outcome<std::string> report = check_journal(new_directory);
  if (!report) return report;
  made->keep();
  return out + *report;
}

Outcome<std::string> back_up_journal(const std::string& directory, const std::string& destination) {
  journal::PosixFileSystem files;
  Outcome<Target> made = Target::make(files, destination, directory);
  if (!made) return made.error();
  const Outcome<Done> copied = journal::back_up(files, directory, destination);
  if (!copied) return copied.error();
  Outcome<std::string> report = check_journal(destination);
  if (report) {
    made->keep();
    return report;
  }
  // What is damaged in the copy is damaged in the journal, and should be named there.
  const Outcome<std::string> original = check_journal(directory);
  return original ? report : original;
}

}  // namespace millrace::server
