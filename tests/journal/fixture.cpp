#include "journal/fixture.hpp"

#include <stdlib.h>

#include <chrono>
#include <filesystem>

#include "journal/file/log_files.hpp"

namespace millrace::journal {

TemporaryDirectory::TemporaryDirectory()
    : path_((std::filesystem::temp_directory_path() / "millrace-journal-XXXXXX").string()) {
  REQUIRE(::mkdtemp(path_.data()) != nullptr);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

FileJournalOptions small_segments(std::uint64_t segment_bytes) {
  FileJournalOptions options;
  options.segment_bytes = segment_bytes;
  options.salt = kSalt;
  options.start_id = kStartId;
  return options;
}

FileJournalOptions surviving(FileJournalOptions options, std::string& failure) {
  options.on_failure = [&failure](const Problem& problem) { failure = problem.text; };
  return options;
}

std::unique_ptr<FileJournal> start(FileSystem& files, const std::string& directory,
                                   const FileJournalOptions& options, Batches* replayed) {
  auto opened = FileJournal::open(files, directory, options);
  REQUIRE_MESSAGE(opened.has_value(), opened.error().text);
  const Outcome<Done> done = (*opened)->replay([&](std::string_view batch, Lsn /*begin*/) {
    if (replayed != nullptr) replayed->emplace_back(batch);
    return Outcome<Done>(Done{});
  });
  REQUIRE_MESSAGE(done.has_value(), done.error().text);
  return std::move(*opened);
}

Batches replayed_by(FileSystem& files, const std::string& directory) {
  Batches batches;
  start(files, directory, small_segments(), &batches);
  return batches;
}

std::string refusal(FileSystem& files, const std::string& directory) {
  std::string failure;
  auto opened = FileJournal::open(files, directory, surviving(small_segments(), failure));
  if (!opened) return opened.error().text;
  const Outcome<Done> done =
      (*opened)->replay([](std::string_view, Lsn) { return Outcome<Done>(Done{}); });
  return done ? std::string() : done.error().text;
}

std::vector<Lsn> segments_of(FileSystem& files, const std::string& directory) {
  const Outcome<std::vector<Lsn>> segments = segments_in(files, directory);
  REQUIRE(segments);
  return *segments;
}

DurableBell::DurableBell(Journal& journal) : journal_(journal) {
  journal_.on_durable([this] {
    const std::lock_guard guard(mutex_);
    rung_.notify_all();
  });
}

DurableBell::~DurableBell() {
  journal_.on_durable({});
}

bool DurableBell::wait_for(Lsn lsn) {
  std::unique_lock guard(mutex_);
  return rung_.wait_for(guard, std::chrono::seconds(10), [&] { return journal_.durable() >= lsn; });
}

Journal::Span append(Journal& journal, std::string batch) {
  return journal.append(journal.epoch(), std::move(batch)).value();
}

std::vector<Journal::Span> append_synced(Journal& journal, const Batches& batches) {
  std::vector<Journal::Span> spans;
  for (const std::string& batch : batches) {
    spans.push_back(append(journal, batch));
    journal.sync();
  }
  return spans;
}

}  // namespace millrace::journal
