#include "server/check.hpp"

#include <array>
#include <string_view>

#include "core/ledger.hpp"
#include "journal/file_system.hpp"
#include "journal/log_reader.hpp"

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

}  // namespace millrace::server
