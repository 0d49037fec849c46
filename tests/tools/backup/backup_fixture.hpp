#pragma once

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/model/codec.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file_journal.hpp"
#include "support/doctest.hpp"
#include "support/scratch.hpp"
#include "tools/backup/backup.hpp"
#include "tools/backup/manifest.hpp"
#include "tools/backup/restore.hpp"
#include "tools/directory/places.hpp"
#include "tools/directory/stored_journal.hpp"

namespace millrace::tools {

/// A job that is put at that time of the wall clock.
inline std::string put_told(JobId id, Time at) {
  std::string batch = put_batch(id, "mail");
  encode(ClockRead{.at = at}, batch);
  return batch;
}

inline std::string mail_ready(int count) {
  return "queue mail: 0 scheduled, " + std::to_string(count) +
         " ready, 0 reserved, 0 retrying, 0 dead";
}

/// A server's journal that goes on.
class GrowingLog {
 public:
  explicit GrowingLog(std::string directory) : directory_(std::move(directory)) { open(); }

  void open() {
    auto opened = journal::FileJournal::open(files_, directory_, {.segment_bytes = 4096});
    REQUIRE(opened);
    journal_ = std::move(*opened);
    REQUIRE(journal_->replay([](std::string_view, Lsn) -> Outcome<Done> { return Done{}; }));
  }
  void close() { journal_.reset(); }

  /// So many jobs, one a second.
  void put(int count) {
    for (int i = 0; i < count; ++i) {
      now += 1s;
      (void)journal_->append(kOnlyEpoch, put_told(next_id_++, now));
    }
    journal_->sync();
  }
  /// A batch of that moment, which is not synced yet.
  void write(std::string batch) {
    encode(ClockRead{.at = now}, batch);
    (void)journal_->append(kOnlyEpoch, std::move(batch));
  }
  void sync() { journal_->sync(); }
  /// As compaction does, whether the segments are needed or not.
  void trim(int segments = 1) {
    while (segments-- > 0) journal_->trim(journal_->extent().oldest_end);
    // The files are gone when the journal has closed.
    close();
    open();
  }

  Time now = Time{std::chrono::hours(24 * 365 * 50)};

 private:
  std::string directory_;
  journal::PosixFileSystem files_;
  std::unique_ptr<journal::FileJournal> journal_;
  JobId next_id_ = 1;
};

/// A directory with a journal, and one with its backup.
struct Backed {
  Scratch scratch;
  std::string data = scratch.path("data");
  std::string copy = scratch.path("copy");
  GrowingLog log{data};

  Outcome<JournalReport> grow() {
    return back_up_journal({.directory = data, .to = copy, .since = copy});
  }
  Outcome<JournalReport> restore(std::optional<Time> until = {}, const std::string& to = "new") {
    return restore_journal({.from = {copy}, .to = scratch.path(to), .until = until});
  }
  [[nodiscard]] BackupManifest manifest() const {
    auto read = read_manifest(copy + "/" + kManifestName);
    REQUIRE_MESSAGE(read, read.error().text);
    return *read;
  }
};

inline void write_over(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace millrace::tools
