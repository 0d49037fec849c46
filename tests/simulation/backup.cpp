/// Backups that are taken while the server works on: another process reads the same disk.

#include "simulation/backup.hpp"

#include <utility>

#include "journal/file/backup.hpp"
#include "journal/file/reserve.hpp"
#include "server/role/replay.hpp"
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
  Outcome<std::unique_ptr<Lock>> lock(const std::string& directory) override {
    return files_.lock(directory);
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

/// Without the unused room at their ends. Cutting it off may fail, which does no harm.
std::map<std::string, std::string> without_room(std::map<std::string, std::string> files) {
  for (auto& [path, bytes] : files) bytes.resize(bytes.find_last_not_of('\0') + 1);
  return files;
}

}  // namespace

Backup::Backup(FileSystem& files, std::uint64_t promised_point)
    : promised(promised_point),
      files_(std::make_unique<InterruptedFiles>(files, [this] { (*pause_)(); })),
      process_([this](const OtherProcess::Pause& pause) {
        pause_ = &pause;
        const auto parts = journal::back_up(*files_, kOriginal, kCopy);
        done = parts ? Outcome<Done>(Done{}) : parts.error();
      }) {}

void World::begin_backup() {
  leave_copy();
  backup_files_ = options_.wrap_backup ? options_.wrap_backup(platter_) : nullptr;
  journal::FileSystem& files = backup_files_ ? *backup_files_ : platter_;
  backup_ = std::make_unique<Backup>(files, known_point_);
}

/// As far as so many operations of it go: between those of the server's own, too.
void World::advance_backup(std::uint64_t operations) {
  if (!backup_) return;
  while (operations-- > 0) {
    if (!backup_->advance()) return finish_backup();
  }
}

/// The copy holds all that was acknowledged before it was begun, and nothing that was never so; and
/// a server that starts on it leaves the original alone.
void World::finish_backup() {
  const std::unique_ptr<Backup> backup = std::move(backup_);
  const Outcome<Done>& done = backup->done;
  tell(done ? "a backup is made" : "no backup: " + done.error().text);
  if (!done || decay_) {
    ++totals_.backups_failed;
    return leave_copy();
  }
  ++totals_.backups;
  const auto original = files_in(platter_, kOriginal);
  start_on_copy(backup->promised);
  demand(files_in(platter_, kOriginal) == original, "the start of a copy changed the original");
  for (const auto& [path, bytes] : files_in(platter_, kCopy)) {
    if (path.find(journal::kReservedPrefix) != std::string::npos) platter_.erase(path);
  }
  copy_ = without_room(files_in(platter_, kCopy));
  // The worst moment is that in which it has just seen what is not synced yet.
  if (!is_writing_ || sync_mode_ == journal::SyncMode::kOff || !random_.one_in(3)) return;
  fault_ = Fault::kPowerCut;
  disk_.plan(*fault_, 1);
}

/// Nobody has written to the copy since.
void World::leave_copy() {
  if (backup_) {
    while (backup_->advance()) {
    }
    backup_.reset();
  }
  demand(copy_.empty() || without_room(files_in(platter_, kCopy)) == copy_,
         "a backup changed after it was made");
  copy_.clear();
  for (const auto& [path, bytes] : files_in(platter_, kCopy)) platter_.erase(path);
}

void World::start_on_copy(std::uint64_t promised) {
  journal::FileJournalOptions options = journal_options();
  auto opened = journal::FileJournal::open(platter_, kCopy, std::move(options));
  demand(opened.has_value(), "a backup is refused");
  Ledger ledger;
  Broker broker(ledger, format_, {.finished = kFinished});
  Lsn last = 0;
  const auto replayed = server::replay(**opened, ledger, [&](Lsn begin) {
    last = begin;
    return true;
  });
  demand(replayed.has_value(), "a backup cannot be replayed");
  std::uint64_t point = first_point_;
  while (point < last_point() && landmarks_[point + 1 - first_point_].begin <= last) ++point;
  demand(point >= promised, "a backup lacks what was acknowledged before it");
  Model model;
  model.facts = landmarks_[point - first_point_].facts;
  model.restart();
  settle(broker.view(), model.facts);
  compare(broker, model, now_);
  (void)(*opened)->append(kOnlyEpoch, "what comes later");
  (*opened)->sync();
}

}  // namespace millrace::simulation
