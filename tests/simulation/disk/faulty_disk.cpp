#include "simulation/disk/faulty_disk.hpp"

#include <algorithm>
#include <random>

namespace millrace::simulation {
namespace {

using journal::File;
using journal::Lock;

Problem dead() {
  return Problem{"the process is dead"};
}

/// The first `bytes` of what the parts are together.
std::string beginning(std::span<const std::string_view> parts, std::uint64_t bytes) {
  std::string text;
  for (const std::string_view part : parts) text += part.substr(0, bytes - text.size());
  return text;
}

}  // namespace

class FaultyFile final : public File {
 public:
  FaultyFile(FaultyDisk& disk, std::unique_ptr<File> file) : disk_(disk), file_(std::move(file)) {}

  Outcome<Done> write(std::uint64_t offset, std::span<const std::string_view> parts) override {
    std::uint64_t bytes = 0;
    for (const std::string_view part : parts) bytes += part.size();
    auto fate = disk_.begin_change();
    const bool fails = fate == Fate::kHappens && disk_.strikes(Fault::kFailedWrite);
    if (fails) fate = Fate::kHalfHappens;
    if (fate == Fate::kHappens) return file_->write(offset, parts);
    if (fate == Fate::kHalfHappens) {
      const std::string stored = beginning(parts, disk_.random_.below(bytes + 1));
      const std::string_view part = stored;
      (void)file_->write(offset, {&part, 1});
    }
    return fails ? Problem{"a write failed, as planned"} : dead();
  }

  Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into) override {
    if (disk_.is_dead()) return dead();
    if (disk_.strikes(Fault::kFailedRead)) {
      return Problem{.text = "a read failed, as planned", .is_passing = true};
    }
    if (!into.empty() && disk_.strikes(Fault::kShortRead)) {
      into = into.first(disk_.random_.below(into.size()));
    }
    return file_->read(offset, into);
  }

  Outcome<std::uint64_t> size() override {
    if (disk_.is_dead()) return dead();
    return file_->size();
  }

  Outcome<Done> truncate(std::uint64_t size) override {
    return disk_.change([&] { return file_->truncate(size); });
  }

  Outcome<Done> preallocate(std::uint64_t size) override {
    return disk_.change([&] { return file_->preallocate(size); });
  }

  Outcome<Done> sync() override {
    return disk_.change([&] {
      disk_.let_rival_write();
      disk_.inner().fail_syncs(disk_.strikes(Fault::kFailedSync));
      const Outcome<Done> done = file_->sync();
      disk_.inner().fail_syncs(false);
      return done;
    });
  }

 private:
  using Fate = FaultyDisk::Fate;

  FaultyDisk& disk_;
  std::unique_ptr<File> file_;
};

void FaultyDisk::plan(Fault fault, std::uint64_t count) {
  fault_ = fault;
  countdown_ = count;
  has_struck_ = false;
}

void FaultyDisk::revive(bool is_power_cut) {
  if (is_power_cut) {
    std::mt19937_64 random(random_.draw());
    disk_.restore_power(random);
  }
  fault_.reset();
  is_dead_ = has_struck_ = was_full_ = false;
  make_room();
}

bool FaultyDisk::strikes(Fault fault) {
  if (fault_ != fault || is_watched_ || --countdown_ > 0) return false;
  fault_.reset();
  has_struck_ = true;
  return true;
}

FaultyDisk::Fate FaultyDisk::begin_change() {
  if (is_dead_) return Fate::kNever;
  if (on_change) on_change();
  ++changes_;
  if (strikes(Fault::kPowerCut)) {
    // The change at which the power fails may still reach the disk: let that see to it.
    disk_.cut_power_at(1);
    is_dead_ = true;
    return Fate::kHappens;
  }
  if (strikes(Fault::kKill)) {
    is_dead_ = true;
    return Fate::kHalfHappens;
  }
  if (strikes(Fault::kFullDisk)) fill_up();
  return Fate::kHappens;
}

Outcome<Done> FaultyDisk::change(const std::function<Outcome<Done>()>& act) {
  const Fate fate = begin_change();
  if (fate == Fate::kHappens) return act();
  if (fate == Fate::kHalfHappens && random_.one_in(2)) (void)act();
  return dead();
}

/// As much as there is now may be there, and a little more.
void FaultyDisk::fill_up() {
  if (on_full) on_full();
  spare_when_filled_ = 0;
  for (const auto& [path, bytes] : disk_.files()) {
    if (path.find("/spare-") != std::string::npos) spare_when_filled_ += bytes.size();
  }
  disk_.leave_room(random_.below(std::max<std::uint64_t>(2048, scale_bytes_ / 4)));
  is_full_ = was_full_ = true;
  has_rival_ = random_.one_in(4);
  if (has_rival_ && random_.one_in(2)) disk_.let_others_take_room();
}

/// Another program writes too, while we wait for the disk, and sometimes removes what it wrote.
void FaultyDisk::let_rival_write() {
  if (!is_full_ || !has_rival_ || random_.one_in(2)) return;
  disk_.leave_room(random_.one_in(16) ? random_.below(2 * scale_bytes_ + 1) : 0);
}

void FaultyDisk::make_room() {
  disk_.set_capacity(size_);
  is_full_ = false;
}

void FaultyDisk::make_endless() {
  disk_.set_capacity(UINT64_MAX);
  is_full_ = false;
}

Outcome<Done> FaultyDisk::ensure_directory(const std::string& path) {
  return disk_.ensure_directory(path);
}

Outcome<std::vector<std::string>> FaultyDisk::list(const std::string& directory) {
  if (is_dead_) return dead();
  return disk_.list(directory);
}

Outcome<std::unique_ptr<File>> FaultyDisk::create(const std::string& path) {
  std::unique_ptr<File> created;
  const Outcome<Done> done = change([&]() -> Outcome<Done> {
    Outcome<std::unique_ptr<File>> file = disk_.create(path);
    if (!file) return file.error();
    created = std::make_unique<FaultyFile>(*this, std::move(*file));
    return Done{};
  });
  if (!done) return done.error();
  return created;
}

Outcome<std::unique_ptr<File>> FaultyDisk::open(const std::string& path, Access access) {
  if (is_dead_) return dead();
  Outcome<std::unique_ptr<File>> file = disk_.open(path, access);
  if (!file) return file.error();
  return std::unique_ptr<File>(std::make_unique<FaultyFile>(*this, std::move(*file)));
}

Outcome<Done> FaultyDisk::rename(const std::string& path, const std::string& new_path) {
  return change([&] { return disk_.rename(path, new_path); });
}

Outcome<bool> FaultyDisk::has_other_name(const std::string& path) {
  if (is_dead_) return dead();
  return disk_.has_other_name(path);
}

Outcome<Done> FaultyDisk::remove(const std::string& path) {
  return change([&] { return disk_.remove(path); });
}

Outcome<std::uint64_t> FaultyDisk::free_space(const std::string& directory) {
  if (is_dead_) return dead();
  return disk_.free_space(directory);
}

Outcome<Done> FaultyDisk::sync_directory(const std::string& path) {
  return change([&] {
    let_rival_write();
    return disk_.sync_directory(path);
  });
}

Outcome<std::unique_ptr<Lock>> FaultyDisk::lock(const std::string& directory) {
  return disk_.lock(directory);
}

}  // namespace millrace::simulation
