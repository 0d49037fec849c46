#include "journal/file/simulated_disk.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace millrace::journal {
namespace {

constexpr std::size_t kSectorBytes = 512;

Problem powerless() {
  return Problem{"the power is off"};
}

Problem too_many_files() {
  return {.text = "too many open files: simulated", .is_out_of_space = true};
}

}  // namespace

class SimulatedFile final : public File {
 public:
  SimulatedFile(SimulatedDisk& disk, std::shared_ptr<SimulatedDisk::Node> node)
      : disk_(disk), node_(std::move(node)) {
    ++disk_.open_files_;
  }
  ~SimulatedFile() override { --disk_.open_files_; }
  SimulatedFile(const SimulatedFile&) = delete;
  SimulatedFile& operator=(const SimulatedFile&) = delete;

  Outcome<Done> write(std::uint64_t offset, std::span<const std::string_view> parts) override {
    std::string bytes;
    for (const std::string_view part : parts) bytes += part;
    const std::lock_guard guard(disk_.mutex_);
    ++disk_.writes_;
    if (disk_.fails_writes_) return Problem{"cannot write: simulated"};
    return disk_.change(*node_, {.offset = offset, .bytes = std::move(bytes), .resized = {}});
  }

  Outcome<std::size_t> read(std::uint64_t offset, std::span<char> into) override {
    const std::lock_guard guard(disk_.mutex_);
    if (!disk_.is_powered_) return powerless();
    if (offset < node_->unreadable_at + node_->unreadable_bytes &&
        offset + into.size() > node_->unreadable_at) {
      return Problem{.text = "cannot read: simulated", .is_passing = true};
    }
    if (offset >= node_->now.size()) return std::size_t{0};
    return node_->now.copy(into.data(), into.size(), offset);
  }

  Outcome<std::uint64_t> size() override {
    const std::lock_guard guard(disk_.mutex_);
    if (!disk_.is_powered_) return powerless();
    return std::uint64_t{node_->now.size()};
  }

  Outcome<Done> truncate(std::uint64_t size) override {
    const std::lock_guard guard(disk_.mutex_);
    return disk_.change(*node_, {.offset = 0, .bytes = {}, .resized = size});
  }

  Outcome<Done> preallocate(std::uint64_t size) override {
    const std::lock_guard guard(disk_.mutex_);
    const std::uint64_t longer = std::max<std::uint64_t>(size, node_->now.size());
    return disk_.change(*node_, {.offset = 0, .bytes = {}, .resized = longer});
  }

  Outcome<Done> sync() override { return disk_.sync(*node_); }

 private:
  SimulatedDisk& disk_;
  std::shared_ptr<SimulatedDisk::Node> node_;
};

class SimulatedLock final : public Lock {
 public:
  SimulatedLock(SimulatedDisk& disk, std::string path) : disk_(disk), path_(std::move(path)) {}
  ~SimulatedLock() override { disk_.unlock(path_); }
  SimulatedLock(const SimulatedLock&) = delete;
  SimulatedLock& operator=(const SimulatedLock&) = delete;

  Outcome<Done> check() override {
    if (disk_.is_locked(path_)) return Done{};
    return Problem{path_ + " was moved: simulated"};
  }

 private:
  SimulatedDisk& disk_;
  std::string path_;
};

void SimulatedDisk::fail_writes(bool fails) {
  const std::lock_guard guard(mutex_);
  fails_writes_ = fails;
}

void SimulatedDisk::fail_reads(const std::string& path, std::uint64_t offset, std::uint64_t bytes) {
  const std::lock_guard guard(mutex_);
  Node& node = *names_.at(path);
  node.unreadable_at = offset;
  node.unreadable_bytes = bytes;
}

void SimulatedDisk::set_capacity(std::uint64_t bytes) {
  const std::lock_guard guard(mutex_);
  capacity_ = bytes;
  others_take_room_ = false;
}

void SimulatedDisk::leave_room(std::uint64_t bytes) {
  const std::lock_guard guard(mutex_);
  capacity_ = used() + bytes;
}

void SimulatedDisk::let_others_take_room() {
  const std::lock_guard guard(mutex_);
  others_take_room_ = true;
  lose_room();
}

void SimulatedDisk::fail_syncs(bool fails) {
  const std::lock_guard guard(mutex_);
  fails_syncs_ = fails;
}

void SimulatedDisk::limit_open_files(std::uint64_t count) {
  const std::lock_guard guard(mutex_);
  open_files_max_ = count;
}

void SimulatedDisk::take_away(const std::string& directory) {
  unlock(directory);
}

void SimulatedDisk::cut_power_at(std::uint64_t count) {
  const std::lock_guard guard(mutex_);
  changes_left_ = count - 1;
}

bool SimulatedDisk::is_powered() {
  const std::lock_guard guard(mutex_);
  return is_powered_;
}

void SimulatedDisk::restore_power(std::mt19937_64& random) {
  const std::lock_guard guard(mutex_);
  for (const auto& [path, node] : names_) {
    if (random() % 2 == 0) stored_names_.emplace(path, node);
  }
  std::erase_if(stored_names_, [&](const auto& entry) {
    return !names_.contains(entry.first) && random() % 2 == 0;
  });
  names_.clear();
  std::map<Node*, std::shared_ptr<Node>> survivors;  // a file may have two names
  for (auto& [path, node] : stored_names_) {
    std::shared_ptr<Node>& survivor = survivors[node.get()];
    if (!survivor) {
      survive(*node, random);
      survivor =
          std::make_shared<Node>(Node{.now = node->stored, .stored = node->stored, .unsynced = {}});
    }
    names_.emplace(path, survivor);
  }
  stored_names_ = names_;
  is_powered_ = true;
  changes_left_.reset();
}

/// Of each unsynced change: nothing, all of it, or some sectors and a torn one.
void SimulatedDisk::survive(Node& node, std::mt19937_64& random) {
  for (const Change& change : node.unsynced) {
    const std::uint64_t fate = random() % 3;
    if (fate == 0) continue;
    if (fate == 1 || change.resized) {
      apply(change, node.stored);
      continue;
    }
    for (std::size_t at = 0; at < change.bytes.size(); at += kSectorBytes) {
      const std::size_t sector = std::min(kSectorBytes, change.bytes.size() - at);
      const std::size_t kept = random() % 2 == 0 ? sector : random() % (sector + 1);
      if (random() % 3 == 0 || kept == 0) continue;
      apply({.offset = change.offset + at, .bytes = change.bytes.substr(at, kept), .resized = {}},
            node.stored);
    }
  }
}

void SimulatedDisk::hold_syncs() {
  const std::lock_guard guard(mutex_);
  holds_syncs_ = true;
}

void SimulatedDisk::wait_for_held_sync() {
  std::unique_lock guard(mutex_);
  moved_.wait(guard, [&] { return held_syncs_ > 0; });
}

void SimulatedDisk::release_syncs() {
  const std::lock_guard guard(mutex_);
  holds_syncs_ = false;
  moved_.notify_all();
}

std::uint64_t SimulatedDisk::write_count() {
  const std::lock_guard guard(mutex_);
  return writes_;
}

std::uint64_t SimulatedDisk::sync_count() {
  const std::lock_guard guard(mutex_);
  return syncs_;
}

std::uint64_t SimulatedDisk::list_count() {
  const std::lock_guard guard(mutex_);
  return lists_;
}

bool SimulatedDisk::wait_for_syncs(std::uint64_t count) {
  std::unique_lock guard(mutex_);
  return moved_.wait_for(guard, std::chrono::seconds(10), [&] { return syncs_ >= count; });
}

std::uint64_t SimulatedDisk::bytes() {
  std::uint64_t bytes = 0;
  for (const auto& [path, contents] : files()) bytes += contents.size();
  return bytes;
}

std::map<std::string, std::string> SimulatedDisk::files() {
  const std::lock_guard guard(mutex_);
  std::map<std::string, std::string> all;
  for (const auto& [path, node] : names_) all.emplace(path, node->now);
  return all;
}

std::string SimulatedDisk::contents(const std::string& path) {
  return files().at(path);
}

void SimulatedDisk::set_contents(const std::string& path, std::string bytes) {
  const std::lock_guard guard(mutex_);
  names_[path] = std::make_shared<Node>(Node{.now = bytes, .stored = bytes, .unsynced = {}});
  stored_names_[path] = names_[path];
}

void SimulatedDisk::erase(const std::string& path) {
  const std::lock_guard guard(mutex_);
  names_.erase(path);
  stored_names_.erase(path);
}

void SimulatedDisk::flip(const std::string& path, std::size_t offset, char mask) {
  const std::lock_guard guard(mutex_);
  const auto found = names_.find(path);
  if (found == names_.end()) return;
  for (std::string* const bytes : {&found->second->now, &found->second->stored}) {
    if (offset < bytes->size()) (*bytes)[offset] ^= mask;
  }
}

Outcome<Done> SimulatedDisk::ensure_directory(const std::string& /*path*/) {
  return Done{};
}

Outcome<std::vector<std::string>> SimulatedDisk::list(const std::string& directory) {
  const std::lock_guard guard(mutex_);
  if (!is_powered_) return powerless();
  ++lists_;
  std::vector<std::string> found;
  for (const auto& [path, node] : names_) {
    if (path.starts_with(directory + "/")) found.push_back(path.substr(directory.size() + 1));
  }
  return found;
}

Outcome<std::unique_ptr<File>> SimulatedDisk::create(const std::string& path) {
  const std::lock_guard guard(mutex_);
  if (open_files_ >= open_files_max_) return too_many_files();
  if (const std::optional<Problem> problem = count_change()) return *problem;
  if (names_.contains(path)) return Problem{"cannot create " + path + ": it exists"};
  names_[path] = std::make_shared<Node>();
  return std::unique_ptr<File>(std::make_unique<SimulatedFile>(*this, names_[path]));
}

Outcome<std::unique_ptr<File>> SimulatedDisk::open(const std::string& path, Access /*access*/) {
  const std::lock_guard guard(mutex_);
  if (!is_powered_) return powerless();
  if (open_files_ >= open_files_max_) return too_many_files();
  if (!names_.contains(path)) return Problem{"cannot open " + path + ": it does not exist"};
  return std::unique_ptr<File>(std::make_unique<SimulatedFile>(*this, names_[path]));
}

Outcome<Done> SimulatedDisk::link(const std::string& path, const std::string& new_path) {
  const std::lock_guard guard(mutex_);
  if (const std::optional<Problem> problem = count_change()) return *problem;
  if (!names_.contains(path) || names_.contains(new_path)) {
    return Problem{"cannot link " + path + " to " + new_path};
  }
  names_[new_path] = names_[path];
  return Done{};
}

Outcome<Done> SimulatedDisk::rename(const std::string& path, const std::string& new_path) {
  const std::lock_guard guard(mutex_);
  if (const std::optional<Problem> problem = count_change()) return *problem;
  if (!names_.contains(path) || names_.contains(new_path)) {
    return Problem{"cannot rename " + path + " to " + new_path};
  }
  names_[new_path] = names_[path];
  names_.erase(path);
  return Done{};
}

Outcome<bool> SimulatedDisk::has_other_name(const std::string& path) {
  const std::lock_guard guard(mutex_);
  if (!names_.contains(path)) return Problem{"cannot examine " + path + ": it does not exist"};
  const auto has_it = [&](const auto& entry) { return entry.second == names_[path]; };
  return std::count_if(names_.begin(), names_.end(), has_it) > 1;
}

Outcome<Done> SimulatedDisk::remove(const std::string& path) {
  const std::lock_guard guard(mutex_);
  if (const std::optional<Problem> problem = count_change()) return *problem;
  if (names_.erase(path) == 0) return Problem{"cannot remove " + path + ": it does not exist"};
  lose_room();
  return Done{};
}

Outcome<std::uint64_t> SimulatedDisk::free_space(const std::string& /*directory*/) {
  const std::lock_guard guard(mutex_);
  return capacity_ - std::min(capacity_, used());
}

Outcome<Done> SimulatedDisk::sync_directory(const std::string& path) {
  const std::lock_guard guard(mutex_);
  if (const std::optional<Problem> problem = count_change()) return *problem;
  const std::string prefix = path + "/";
  const auto is_here = [&](const auto& entry) { return entry.first.starts_with(prefix); };
  std::erase_if(stored_names_,
                [&](const auto& entry) { return is_here(entry) && !names_.contains(entry.first); });
  for (const auto& entry : names_) {
    if (is_here(entry)) stored_names_.insert_or_assign(entry.first, entry.second);
  }
  return Done{};
}

Outcome<std::unique_ptr<Lock>> SimulatedDisk::lock(const std::string& directory) {
  const std::lock_guard guard(mutex_);
  if (!locks_.insert(directory).second) return Problem{directory + " is held"};
  return std::unique_ptr<Lock>(std::make_unique<SimulatedLock>(*this, directory));
}

bool SimulatedDisk::is_locked(const std::string& directory) {
  const std::lock_guard guard(mutex_);
  return locks_.contains(directory);
}

void SimulatedDisk::unlock(const std::string& directory) {
  const std::lock_guard guard(mutex_);
  locks_.erase(directory);
}

void SimulatedDisk::apply(const Change& change, std::string& bytes) {
  if (change.resized) {
    bytes.resize(*change.resized);
    return;
  }
  if (bytes.size() < change.offset + change.bytes.size()) {
    bytes.resize(change.offset + change.bytes.size());
  }
  bytes.replace(change.offset, change.bytes.size(), change.bytes);
}

bool SimulatedDisk::has_room(const Node& node, std::uint64_t bytes) const {
  if (bytes <= node.now.size()) return true;
  return used() + bytes - node.now.size() <= capacity_;
}

std::uint64_t SimulatedDisk::used() const {
  std::vector<const Node*> nodes;
  nodes.reserve(names_.size());
  for (const auto& [path, node] : names_) nodes.push_back(node.get());
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());  // a file may have two names
  std::uint64_t bytes = 0;
  for (const Node* const node : nodes) bytes += node->now.size();
  return bytes;
}

void SimulatedDisk::lose_room() {
  if (others_take_room_) capacity_ = std::min(capacity_, used());
}

/// The change at which the power fails is refused, and may still reach the disk.
Outcome<Done> SimulatedDisk::change(Node& node, Change change) {
  if (!has_room(node, change.resized.value_or(change.offset + change.bytes.size()))) {
    return Problem{.text = "no space left: simulated", .is_out_of_space = true};
  }
  const bool was_powered = is_powered_;
  const std::optional<Problem> problem = count_change();
  if (was_powered) {
    apply(change, node.now);
    if (change.resized) lose_room();
    node.unsynced.push_back(std::move(change));
  }
  return problem ? Outcome<Done>(*problem) : Outcome<Done>(Done{});
}

Outcome<Done> SimulatedDisk::sync(Node& node) {
  std::unique_lock guard(mutex_);
  ++held_syncs_;
  moved_.notify_all();
  moved_.wait(guard, [&] { return !holds_syncs_; });
  --held_syncs_;
  if (const std::optional<Problem> problem = count_change()) return *problem;
  const std::vector<Change> changes = std::exchange(node.unsynced, {});
  if (fails_syncs_) return Problem{"cannot sync: simulated"};
  for (const Change& change : changes) apply(change, node.stored);
  ++syncs_;
  moved_.notify_all();
  return Done{};
}

std::optional<Problem> SimulatedDisk::count_change() {
  if (changes_left_ && *changes_left_ == 0) is_powered_ = false;
  if (!is_powered_) return powerless();
  if (changes_left_) --*changes_left_;
  return std::nullopt;
}

}  // namespace millrace::journal
