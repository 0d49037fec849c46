#include "tools/directory/stored_journal.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/model/codec.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file_journal.hpp"
#include "support/doctest.hpp"
#include "support/edited_log.hpp"

namespace millrace::tools {
namespace {

void append_synced(const std::string& directory, const std::vector<std::string>& batches,
                   journal::FileJournalOptions options) {
  journal::PosixFileSystem files;
  auto journal = journal::FileJournal::open(files, directory, std::move(options));
  REQUIRE(journal);
  REQUIRE((*journal)->replay([](std::string_view, Lsn) -> Outcome<Done> { return Done{}; }));
  for (const std::string& batch : batches) {
    (void)(*journal)->append(kOnlyEpoch, batch);
    (*journal)->sync();
  }
}

}  // namespace

void write_journal(const std::string& directory, const std::vector<std::string>& batches) {
  append_synced(directory, batches, {});
}

std::string put_batch(JobId id, std::string_view queue) {
  JobAdded job{.id = id, .queue = queue, .body = "x"};
  job.fields.ttr_s = 60;
  job.fields.state = JobState::kReady;
  job.fields.sequence = id;
  std::string batch;
  encode(job, batch);
  return batch;
}

void write_segments(const std::string& directory, std::optional<std::uint64_t> salt) {
  std::vector<std::string> batches;
  for (JobId id = 1; id <= 100; ++id) batches.push_back(put_batch(id, "mail"));
  append_synced(directory, batches, {.segment_bytes = 1024, .salt = salt});
}

void forget_end(const std::string& directory) {
  journal::PosixFileSystem files;
  journal::forget_end(files, directory);
}

std::vector<std::string> segments(const std::string& directory) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".log") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void flip_byte(const std::string& path, std::streamoff offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(offset);
  const int byte = file.get();
  file.seekp(offset);
  file.put(static_cast<char>(byte ^ 0x10));
}

std::string name_of(const std::string& path) {
  return std::filesystem::path(path).filename();
}

bool has(const Outcome<JournalReport>& report, const std::string& line) {
  return report && ("\n" + report->text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace millrace::tools
