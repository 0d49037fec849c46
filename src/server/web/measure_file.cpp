#include "server/web/measure_file.hpp"

#include <pthread.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

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

}  // namespace

struct MeasureFile::Writing {
  std::mutex mutex;
  std::condition_variable has_ended;
  std::optional<Outcome<Done>> outcome;  ///< guarded by the mutex; nullopt: it is under way
};

MeasureFile::MeasureFile(http::Measures measures, const std::string& directory, const Log& log)
    : measures_(measures),
      path_(directory.empty() ? std::string() : directory + "/measures"),
      log_(log) {}

void MeasureFile::load(Time now) {
  if (path_.empty() || next_ != kNever) return;
  next_ = now + kPause;
  std::error_code error;
  if (!fs::exists(path_, error)) return;
  const Outcome<std::string> bytes = read(path_);
  if (bytes && http::restore(*bytes, measures_, now)) return;
  log_.event("measures_dropped",
             {{"file", path_},
              {"problem", bytes ? "damaged, or of another release" : bytes.error().text}});
}

void MeasureFile::work(Time now) {
  if (now < next_) return;
  next_ = now + http::Series::kTurnPause;
  if (!copy_) copy_.emplace(measures_);
  if (!copy_->work()) return;
  next_ = now + kPause;
  if (has_written({})) return begin_to_write();
  copy_.reset();
  note(Problem{path_ + ": the disk does not answer"});
}

void MeasureFile::save_last() {
  if (std::exchange(next_, kNever) == kNever || !has_written(kPatience)) return;
  copy_.emplace(measures_);
  while (!copy_->work()) continue;
  begin_to_write();
  if (!has_written(kPatience)) note(Problem{path_ + ": the disk does not answer"});
}

void MeasureFile::begin_to_write() {
  // Shared with the thread, which may outlive this.
  writing_ = std::make_shared<Writing>();
  auto work = [writing = writing_, path = path_, copy = *std::move(copy_)] {
    pthread_setname_np(pthread_self(), "measures");
    Outcome<Done> written = replace(path, copy.encode());
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
