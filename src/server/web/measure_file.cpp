#include "server/web/measure_file.hpp"

#include <pthread.h>

#include <asio/post.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "journal/file/file_system.hpp"

namespace millrace::server {
namespace {

namespace fs = std::filesystem;

/// What is left of a disk for the journal, besides room for the file.
constexpr std::uint64_t kRoomLeft = 64 << 20;

Outcome<Done> replace(const std::string& path, std::string_view bytes) {
  std::error_code error;
  const fs::space_info space = fs::space(fs::path(path).parent_path(), error);
  if (error) return Problem{path + ": " + error.message()};
  if (space.available < kRoomLeft + bytes.size())
    return Problem{path + ": the disk is nearly full"};
  const std::string draft = path + ".new";
  fs::remove(draft, error);
  auto file = journal::PosixFileSystem().create(draft);
  if (!file) return file.error();
  // Not synced, which the journal might have to wait for. If the power fails, a hash tells.
  if (auto written = (*file)->write(0, {&bytes, 1}); !written) return written;
  fs::rename(draft, path, error);
  return error ? Outcome<Done>(Problem{path + ": " + error.message()}) : Done{};
}

std::string read(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error || size > MeasureFile::kBytesMax) return {};
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

MeasureFile::MeasureFile(http::Measures measures, std::string directory, const Log& log)
    : measures_(measures),
      path_(directory.empty() ? std::string() : std::move(directory) + "/measures"),
      log_(log) {
  if (path_.empty()) return;
  asio::post(thread_, [] { pthread_setname_np(pthread_self(), "web_measures"); });
}

MeasureFile::~MeasureFile() {
  thread_.join();
}

void MeasureFile::load(Time now) {
  if (path_.empty() || std::exchange(is_loaded_, true)) return;
  next_ = now + kPause;
  std::error_code error;
  if (!fs::exists(path_, error)) return;
  if (!http::restore(read(path_), measures_, now))
    log_.event("measures_dropped", {{"file", path_}});
}

void MeasureFile::work(Time now) {
  if (now < next_) return;
  next_ = now + http::Series::kTurnPause;
  if (!copy_) copy_.emplace(measures_);
  if (!copy_->work()) return;
  next_ = now + kPause;
  // A disk that does not answer is not asked again.
  if (!is_writing_.exchange(true)) {
    asio::post(thread_, [this, copy = *std::move(copy_)] {
      write(copy);
      is_writing_ = false;
    });
  }
  copy_.reset();
}

void MeasureFile::write(const http::MeasureCopy& copy) {
  const Outcome<Done> written = replace(path_, copy.encode());
  if (!written && !has_failed_) {
    log_.event("measures_not_saved", {{"problem", written.error().text}});
  }
  has_failed_ = !written.has_value();
}

void MeasureFile::save_now() {
  if (!is_loaded_ || is_writing_) return;
  is_loaded_ = false;
  http::MeasureCopy copy(measures_);
  while (!copy.work()) continue;
  asio::post(thread_, [this, copy = std::move(copy)] { write(copy); });
  thread_.join();
}

}  // namespace millrace::server
