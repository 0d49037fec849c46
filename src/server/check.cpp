#include "server/check.hpp"

#include <array>
#include <string_view>

#include "core/ledger.hpp"
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
  const Outcome<Done> made = files.ensure_directory(new_directory);
  if (!made) return made.error();
  const auto names = files.list(new_directory);
  if (!names) return names.error();
  if (!names->empty()) return Problem{new_directory + " is not empty"};
  std::vector<std::string> losses;
  {
    auto target = journal::FileJournal::open(files, new_directory, {});
    if (!target) return target.error();
    const auto ignore = [](std::string_view, Lsn) -> Outcome<Done> { return Done{}; };
    if (auto begun = (*target)->replay(ignore); !begun) return begun.error();
    const auto found =
        journal::salvage(files, directory, [&](std::string_view batch, Lsn begin) -> Outcome<Done> {
          // One that a server would not read is no better than a damaged one.
          if (auto read = Ledger().replay(batch, begin); !read) {
            losses.push_back("the batch at " + std::to_string(begin) + ": " + read.error().text);
          } else {
            (*target)->append(std::string(batch));
          }
          return Done{};
        });
    if (!found) return found.error();
    losses.insert(losses.begin(), found->losses.begin(), found->losses.end());
    (*target)->sync();
  }
  std::string out;
  for (const std::string& loss : losses) append_line("lost", loss, out);
  const Outcome<std::string> report = check_journal(new_directory);
  return report ? Outcome<std::string>(out + *report) : report;
}

Outcome<std::string> back_up_journal(const std::string& directory, const std::string& destination) {
  journal::PosixFileSystem files;
  const Outcome<Done> copied = journal::back_up(files, directory, destination);
  if (!copied) return copied.error();
  return check_journal(destination);
}

}  // namespace millrace::server
