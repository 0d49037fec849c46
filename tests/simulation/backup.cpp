/// Backups that are taken while the server works on: another process reads the same disk.

#include "journal/backup.hpp"

#include <utility>

#include "simulation/process.hpp"
#include "simulation/violation.hpp"
#include "simulation/world.hpp"

namespace millrace::simulation {
namespace {

using journal::File;
using journal::FileSystem;
using journal::Lock;

const std::string kOriginal = "/journal";
const std::string kCopy = "/copy";

/// The disk of somebody who is interrupted before each thing that he does with it.
class InterruptedFiles final : public FileSystem {
 public:
  InterruptedFiles(FileSystem& files, std::function<void()> interrupt)
      : files_(files), interrupt_(std::move(interrupt)) {}

  Outcome<Done> ensure_directory(const std::string& path) override {
    return files_.ensure_directory(path);
  }
  Outcome<std::vector<std::string>> list(const std::string& directory) override {
    interrupt_();
    return files_.list(directory);
  }
  Outcome<std::unique_ptr<File>> create(const std::string& path) override {
    interrupt_();
    return wrapped(files_.create(path));
  }
  Outcome<std::unique_ptr<File>> open(const std::string& path, Access access) override {
    interrupt_();
    return wrapped(files_.open(path, access));
  }
  Outcome<Done> link(const std::string& path, const std::string& new_path) override {
    interrupt_();
    return files_.link(path, new_path);
  }
  Outcome<Done> rename(const std::string& path, const std::string& new_path) override {
    interrupt_();
    return files_.rename(path, new_path);
  }
  Outcome<bool> has_other_name(const std::string& path) override {
    return files_.has_other_name(path);
  }
  Outcome<Done> remove(const std::string& path) override {
    interrupt_();
    return files_.remove(path);
  }
  Outcome<std::uint64_t> free_space(const std::string& directory) override {
    return files_.free_space(directory);
  }
  Outcome<Done> sync_directory(const std::string& path) override {
    interrupt_();
    return files_.sync_directory(path);
  }
  Outcome<std::unique_ptr<Lock>> lock(const std::string& path) override {
    return files_.lock(path);
  }

 private:
  class InterruptedFile final : public File {
   public:
    InterruptedFile(std::unique_ptr<File> file, std::function<void()>& interrupt)
        : file_(std::move(file)), interrupt_(interrupt) {}

    Outcome<Done> write(std::uint64_t offset, std::span<const std::string_view> parts) override {
      interrupt_();
      return file_->write(offset, parts);
    }
    Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into) override {
      interrupt_();
      return file_->read(offset, into);
    }
    Outcome<std::uint64_t> size() override { return file_->size(); }
    Outcome<Done> truncate(std::uint64_t size) override { return file_->truncate(size); }
    Outcome<Done> preallocate(std::uint64_t size) override { return file_->preallocate(size); }
    Outcome<Done> sync() override { return file_->sync(); }

   private:
    std::unique_ptr<File> file_;
    std::function<void()>& interrupt_;
  };

  Outcome<std::unique_ptr<File>> wrapped(Outcome<std::unique_ptr<File>> file) {
    if (!file) return file;
    return std::unique_ptr<File>(std::make_unique<InterruptedFile>(std::move(*file), interrupt_));
  }

  FileSystem& files_;
  std::function<void()> interrupt_;
};

std::map<std::string, std::string> files_in(journal::SimulatedDisk& disk,
                                            const std::string& directory) {
  std::map<std::string, std::string> found = disk.files();
  std::erase_if(found, [&](const auto& file) { return !file.first.starts_with(directory + "/"); });
  return found;
}

}  // namespace

/// The copy holds all that was acknowledged before it was begun, and nothing that was never so; and
/// a server that starts on it leaves the original alone.
void World::back_up() {
  const std::uint64_t promised = known_point_;
  InterruptedFiles files(platter_, [this] {
    if (disk_.is_dead() || !random_.one_in(3)) return;
    let_read([&] { random_.one_in(3) ? write() : act(); });
  });
  const Outcome<Done> done = journal::back_up(files, kOriginal, kCopy);
  tell(done ? "a backup is made" : "no backup: " + done.error().text);
  if (done && !disk_.is_dead()) {
    ++totals_.backups;
    const auto original = files_in(platter_, kOriginal);
    start_on_copy(promised);
    demand(files_in(platter_, kOriginal) == original, "the start of a copy changed the original");
  } else if (!done) {
    ++totals_.backups_failed;
  }
  for (const auto& [path, bytes] : files_in(platter_, kCopy)) platter_.erase(path);
}

void World::start_on_copy(std::uint64_t promised) {
  journal::FileJournalOptions options = journal_options();
  auto opened = journal::FileJournal::open(platter_, kCopy, std::move(options));
  demand(opened.has_value(), "a backup is refused");
  Broker broker(format_, {});
  Lsn last = 0;
  const Outcome<Done> replayed = (*opened)->replay([&](std::string_view batch, Lsn begin) {
    last = begin;
    return broker.replay(batch, begin);
  });
  demand(replayed.has_value(), "a backup cannot be replayed");
  std::uint64_t point = first_point_;
  while (point < last_point() && landmarks_[point + 1 - first_point_].begin <= last) ++point;
  demand(point >= promised, "a backup lacks what was acknowledged before it");
  Model model;
  model.facts = landmarks_[point - first_point_].facts;
  model.restart();
  settle(broker.view(), model.facts);
  compare(broker.view(), model, now_);
  (*opened)->append("what comes later");
  (*opened)->sync();
}

}  // namespace millrace::simulation
