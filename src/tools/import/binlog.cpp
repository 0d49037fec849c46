#include "tools/import/binlog.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/number.hpp"
#include "journal/posix/descriptor.hpp"

namespace millrace::tools {
namespace {

constexpr std::string_view kFileStart = "binlog.";

/// A beanstalkd that runs has a lock on the whole file `lock`. One that is started while this one
/// is held ends at once. A copy of a directory may lack the file: then nothing is locked.
Outcome<journal::Descriptor> lock_binlog(const std::string& directory) {
  journal::Descriptor lock(
      ::open((directory + "/lock").c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct flock asked {};
  asked.l_type = F_RDLCK;
  asked.l_whence = SEEK_SET;
  if (!lock.is_open() || ::fcntl(lock.get(), F_SETLK, &asked) == 0) return lock;
  // A file system that has no locks kept beanstalkd from starting.
  if (errno != EACCES && errno != EAGAIN) return lock;
  const bool is_known = ::fcntl(lock.get(), F_GETLK, &asked) == 0 && asked.l_type != F_UNLCK;
  const std::string process = is_known ? " (process " + std::to_string(asked.l_pid) + ")" : "";
  return Problem{"beanstalkd" + process + " uses " + directory + ": stop it first"};
}

/// The numbers of the files, which are the order of the log.
Outcome<std::vector<std::uint64_t>> binlog_numbers(journal::FileSystem& files,
                                                   const std::string& directory) {
  const auto names = files.list(directory);
  if (!names) return names.error();
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : *names) {
    if (!name.starts_with(kFileStart)) continue;
    const auto number = parse_number<std::uint64_t>(name.substr(kFileStart.size()));
    // beanstalkd passes over those with zeros in front.
    if (number && name == std::string(kFileStart) + std::to_string(*number)) {
      numbers.push_back(*number);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  if (numbers.empty()) return Problem{directory + " has no file named binlog.1, binlog.2, ..."};
  return numbers;
}

}  // namespace

Outcome<std::string> read_whole_file(journal::FileSystem& files, const std::string& path) {
  const auto file = files.open(path, journal::FileSystem::Access::kRead);
  if (!file) return file.error();
  const auto size = (*file)->size();
  if (!size) return size.error();
  if (*size > kBinlogBytesMax) return Problem{path + " is longer than any file of beanstalkd"};
  std::string bytes(*size, '\0');
  const auto read = (*file)->read(0, bytes);
  if (!read) return read.error();
  bytes.resize(*read);
  return bytes;
}

Outcome<Binlog> Binlog::read(journal::FileSystem& files, const std::string& directory) {
  const auto numbers = binlog_numbers(files, directory);
  if (!numbers) return numbers.error();
  auto lock = lock_binlog(directory);
  if (!lock) return lock.error();
  Binlog log(std::move(*lock));
  for (std::size_t i = 0; i < numbers->size(); ++i) {
    const std::uint64_t number = (*numbers)[i];
    if (i > 0 && number != (*numbers)[i - 1] + 1) {
      log.damages_.push_back(directory + ": the files between binlog." +
                             std::to_string((*numbers)[i - 1]) + " and binlog." +
                             std::to_string(number) + " are missing");
    }
    log.files_.push_back(directory + "/" + std::string(kFileStart) + std::to_string(number));
    const bool is_newest = i + 1 == numbers->size();
    if (auto read = log.read_file(files, is_newest); !read) return read.error();
  }
  return log;
}

Outcome<Done> Binlog::read_file(journal::FileSystem& files, bool is_newest) {
  const std::string& path = files_.back();
  const auto bytes = read_whole_file(files, path);
  if (!bytes) return bytes.error();
  if (bytes->find_first_not_of('\0') == bytes->npos) {
    // A crash may have come before the first byte of a new file, or of what belongs into it.
    auto& told = is_newest && files_.size() > 1 ? torn_ : damages_;
    told.push_back(path + (bytes->empty() ? " is empty" : " has nothing but zeros"));
    return Done{};
  }
  auto reader = BinlogReader::open(*bytes);
  if (!reader) return Problem{path + ": " + reader.error().text};
  const auto file = static_cast<std::uint32_t>(files_.size() - 1);
  while (const auto record = reader->next()) take(*record, file);
  const std::size_t rest = bytes->size() - std::min(bytes->size(), reader->offset());
  const std::string place = path + ", offset " + std::to_string(reader->offset()) + ": ";
  if (reader->end() == BinlogReader::End::kTorn) {
    torn_.push_back(place + "a record that was not written to its end");
  }
  if (reader->end() == BinlogReader::End::kCut) {
    damages_.push_back(place + "the file ends in the middle of a record: it was not copied whole");
  }
  if (reader->end() == BinlogReader::End::kDamaged) {
    damages_.push_back(place + "the last " + std::to_string(rest) + " bytes cannot be read");
  }
  return Done{};
}

std::uint32_t Binlog::tube_of(std::string_view name) {
  const auto next = static_cast<std::uint32_t>(tubes_.size());
  const auto [entry, is_new] = tube_places_.try_emplace(std::string(name), next);
  if (is_new) tubes_.emplace_back(name);
  return entry->second;
}

void Binlog::take(const BinlogRecord& record, std::uint32_t file) {
  using State = BinlogRecord::State;
  last_id_ = std::max(last_id_, record.id);
  if (record.state == State::kDeleted) {
    jobs_.erase(record.id);
    return;
  }
  const auto found = jobs_.find(record.id);
  // The whole record was in a file that is gone, since the job was deleted later.
  if (found == jobs_.end() && !record.is_whole) return;
  const bool was_buried = found != jobs_.end() && found->second.record.state == State::kBuried;
  BinlogJob& job = jobs_[record.id];
  BinlogRecord next = record;
  next.tube = {};
  if (record.is_whole) {
    job.tube = tube_of(record.tube);
    job.file = file;
  } else {
    next.is_whole = true;
    next.body_at = job.record.body_at;
    next.body_bytes = job.record.body_bytes;
  }
  // No reservation outlives beanstalkd.
  if (next.state == State::kReserved) next.state = State::kReady;
  // The compaction of beanstalkd writes a buried job once more.
  const bool is_burial = next.state == State::kBuried && !(was_buried && record.is_whole);
  job.record = next;
  if (is_burial) job.buried_at = ++burials_;
}

std::vector<const BinlogJob*> Binlog::jobs() const {
  std::vector<const BinlogJob*> list;
  list.reserve(jobs_.size());
  for (const auto& [id, job] : jobs_) list.push_back(&job);
  std::sort(list.begin(), list.end(), [](const BinlogJob* a, const BinlogJob* b) {
    return std::pair(a->file, a->record.body_at) < std::pair(b->file, b->record.body_at);
  });
  return list;
}

}  // namespace millrace::tools
