#include "server/web/measure_file.hpp"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/number.hpp"
#include "journal/file/file_system.hpp"

namespace millrace::server {
namespace {

namespace fs = std::filesystem;

/// What is left of a disk for the journal, besides room for the file.
constexpr std::uint64_t kRoomLeft = 64 << 20;

Outcome<Done> write(const std::string& path, std::string_view bytes) {
  auto file = journal::PosixFileSystem().create(path);
  return file ? (*file)->write(0, {&bytes, 1}) : file.error();
}

Outcome<Done> replace(const std::string& path, std::string_view bytes) {
  std::error_code error;
  const fs::space_info space = fs::space(fs::path(path).parent_path(), error);
  if (error) return Problem{path + ": " + error.message()};
  if (space.available < kRoomLeft + bytes.size())
    return Problem{path + ": the disk is nearly full"};
  const std::string draft = path + ".new";
  fs::remove(draft, error);
  // Not synced, which the journal might have to wait for. If the power fails, a hash tells.
  Outcome<Done> written = write(draft, bytes);
  if (written) fs::rename(draft, path, error);
  if (written && error) written = Problem{path + ": " + error.message()};
  if (!written) fs::remove(draft, error);
  return written;
}

Outcome<std::string> read(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return Problem{error.message()};
  if (size > MeasureFile::kBytesMax) return Problem{"too long"};
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return bytes.size() == size ? Outcome<std::string>(std::move(bytes)) : Problem{"unreadable"};
}

std::string step_of(const http::Block& block) {
  return std::to_string(http::kSpans[block.span].interval / 1s) + "s-";
}

std::string path_of(const std::string& directory, const http::Block& block) {
  return directory + "/series/" + step_of(block) + std::to_string(block.number);
}

/// Removes the blocks of the same span that are too old.
void remove_old(const std::string& directory, const http::Block& newest, std::int64_t kept) {
  std::error_code error;
  fs::directory_iterator entries(directory + "/series", error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename();
    if (!name.starts_with(step_of(newest))) continue;
    const auto number = parse_number<std::uint64_t>(name.substr(step_of(newest).size()));
    std::error_code gone;
    if (number && static_cast<std::int64_t>(*number) <= newest.number - kept)
      fs::remove(entries->path(), gone);
  }
}

Outcome<Done> write_block(const std::string& directory, const http::Block& block,
                          std::string_view bytes) {
  const auto* const archived =
      std::ranges::find(http::kArchived, block.span, &http::Archived::span);
  std::error_code error;
  fs::create_directory(directory + "/series", error);
  remove_old(directory, block, archived->blocks);
  return replace(path_of(directory, block), bytes);
}

}  // namespace

struct MeasureFile::Writing {
  std::mutex mutex;
  std::condition_variable has_ended;
  std::optional<Outcome<Done>> outcome;  ///< guarded by the mutex; nullopt: it is under way
};

MeasureFile::MeasureFile(http::Measures measures, const std::string& directory, const Log& log)
    : measures_(measures),
      directory_(directory),
      path_(directory.empty() ? std::string() : directory + "/measures"),
      log_(log) {}

void MeasureFile::load(Time now) {
  if (path_.empty() || next_ != kNever) return;
  next_ = now;
  next_save_ = now + kPause;
  const http::Ends ends = http::ends_at(now);
  for (const auto& [span, blocks] : http::kArchived) {
    next_blocks_[span] = ends[span] / static_cast<std::int64_t>(http::kSpans[span].points);
  }
  std::error_code error;
  if (!fs::exists(path_, error)) return;
  const Outcome<std::string> bytes = read(path_);
  if (bytes && http::restore(*bytes, measures_, now)) return write_begun_blocks();
  log_.event("measures_dropped",
             {{"file", path_},
              {"problem", bytes ? "damaged, or of another release" : bytes.error().text}});
}

/// Before anything is measured: then the lines lose what was long ago.
void MeasureFile::write_begun_blocks() {
  const http::Line* const server = measures_.series.server();
  if (server == nullptr) return;
  for (const auto& [span, blocks] : http::kArchived) {
    http::Block block{.span = span};
    block.number = (server->end(span) - 1) / block.points();
    const bool is_over = block.number < next_blocks_[span];
    if (!is_over || !read_block(directory_, block).empty()) continue;
    http::MeasureCopy copy(measures_, block);
    while (!copy.work()) continue;
    note(write_block(directory_, block, copy.encode()));
  }
}

std::string MeasureFile::read_block(const std::string& directory, const http::Block& block) {
  const Outcome<std::string> bytes = read(path_of(directory, block));
  return bytes ? *bytes : std::string();
}

std::optional<http::Block> MeasureFile::complete_block(const http::Ends& ends) const {
  for (const auto& [span, blocks] : http::kArchived) {
    const http::Block block{.span = span, .number = next_blocks_[span]};
    if (ends[span] >= block.begin() + block.points()) return block;
  }
  return std::nullopt;
}

void MeasureFile::begin_to_copy(Time now) {
  const http::Ends& ends = measures_.series.ends();
  copied_ = complete_block(ends);
  if (copied_) {
    // Of blocks that are long over nothing is known.
    next_blocks_[copied_->span] = ends[copied_->span] / copied_->points();
  } else if (now < next_save_) {
    return;
  } else {
    next_save_ = now + kPause;
  }
  copy_.emplace(measures_, copied_);
}

void MeasureFile::work(Time now) {
  if (now < next_) return;
  next_ = now + kLook;
  if (!copy_) begin_to_copy(now);
  if (!copy_) return;
  if (!copy_->work()) {
    next_ = now + http::Series::kTurnPause;
  } else if (has_written({})) {
    begin_to_write();
  } else if (now >= next_save_) {
    note(Problem{path_ + ": the disk does not answer"});
  }
}

void MeasureFile::save_last() {
  if (std::exchange(next_, kNever) == kNever || !has_written(kPatience)) return;
  copied_.reset();
  copy_.emplace(measures_);
  while (!copy_->work()) continue;
  begin_to_write();
  if (!has_written(kPatience)) note(Problem{path_ + ": the disk does not answer"});
}

void MeasureFile::begin_to_write() {
  // Shared with the thread, which may outlive this.
  writing_ = std::make_shared<Writing>();
  auto work = [writing = writing_, directory = directory_, path = path_, block = copied_,
               copy = *std::move(copy_)] {
    pthread_setname_np(pthread_self(), "measures");
    Outcome<Done> written =
        block ? write_block(directory, *block, copy.encode()) : replace(path, copy.encode());
    const std::lock_guard lock(writing->mutex);
    writing->outcome = std::move(written);
    writing->has_ended.notify_all();
  };
  copy_.reset();
  try {
    // Detached: the end of the process does not wait for a disk for ever.
    std::thread(std::move(work)).detach();
  } catch (const std::system_error& error) {
    writing_.reset();
    note(Problem{std::string("no thread: ") + error.what()});
  }
}

bool MeasureFile::has_written(std::chrono::milliseconds patience) {
  if (writing_ == nullptr) return true;
  std::unique_lock lock(writing_->mutex);
  const bool has_ended = writing_->has_ended.wait_for(
      lock, patience, [this] { return writing_->outcome.has_value(); });
  if (!has_ended) return false;
  note(*writing_->outcome);
  lock.unlock();
  writing_.reset();
  return true;
}

/// One line for several saves in a row that fail.
void MeasureFile::note(const Outcome<Done>& written) {
  const bool is_news = !written && !has_failed_;
  has_failed_ = !written;
  if (is_news) log_.event("measures_not_saved", {{"problem", written.error().text}});
}

}  // namespace millrace::server
