/// Writes a golden journal of the present format into a new folder, and a file that says what it
/// holds.

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "core/broker/broker.hpp"
#include "faktory/job/work_unit.hpp"
#include "golden/scenario.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file/log_reader.hpp"
#include "journal/file_journal.hpp"
#include "server/role/replay.hpp"

namespace millrace::golden {
namespace {

/// A server on the journal of that directory.
struct Process {
  Process(journal::FileSystem& files, const std::string& directory, std::uint64_t start_id) {
    journal::FileJournalOptions options;
    options.segment_bytes = 4096;
    options.salt = 0x5eed;
    options.start_id = start_id;
    auto opened = journal::FileJournal::open(files, directory, std::move(options));
    CHECK(opened.has_value());
    journal = std::move(*opened);
    CHECK(server::replay(*journal, ledger, [](Lsn) { return true; }));
  }

  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker{ledger, format, {.finished = {.is_durable = true}}};
  std::unique_ptr<journal::FileJournal> journal;
};

/// Cleans the oldest segment away, as a server does: its jobs are at the end then, as whole
/// records with all that has happened to them.
void clean(Process& process) {
  const Lsn end = process.journal->extent().oldest_end;
  process.ledger.rewrite(end, SIZE_MAX);
  const auto span = process.journal->append(kOnlyEpoch, process.ledger.take_batch());
  process.ledger.place(span->begin);
  CHECK(process.ledger.oldest_needed().value_or(end) >= end);
  process.journal->trim(end);
  process.journal->sync();
}

/// What a crash leaves after the last frame.
void tear(const std::string& directory) {
  journal::PosixFileSystem files;
  const auto reader = journal::LogReader::open(files, directory);
  CHECK(reader.has_value());
  const Lsn last = reader->segments().back().header.first;
  std::ofstream(directory + "/" + journal::segment_name(last), std::ios::app | std::ios::binary)
      << "half a frame" << std::string(500, '\0');
}

void write(const std::string& directory) {
  journal::PosixFileSystem files;
  {
    Process first(files, directory, 0x1001);
    for (std::string& batch : record_life())
      (void)first.journal->append(kOnlyEpoch, std::move(batch));
  }
  {
    Process second(files, directory, 0x1002);
    clean(second);
    std::ofstream(directory + "/expected.txt") << tell(second.broker.view());
  }
  tear(directory);
  CHECK(files.remove(directory + "/lock"));
}

}  // namespace
}  // namespace millrace::golden

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_golden NEW_DIRECTORY\n", stderr);
    return 2;
  }
  millrace::golden::write(argv[1]);
  return 0;
}
