#include <absl/container/flat_hash_map.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/number.hpp"
#include "base/text.hpp"
#include "beanstalk/argument.hpp"
#include "journal/file/file_system.hpp"
#include "journal/posix/descriptor.hpp"
#include "tools/import/binlog_reader.hpp"
#include "tools/import/import.hpp"
#include "tools/import/import_target.hpp"
#include "tools/import/put_job.hpp"
#include "tools/peers/transfer_table.hpp"

namespace millrace::tools {
namespace {

/// A job that is in the log: not deleted since.
struct BinlogJob {
  /// As a restart of beanstalkd would have it. Never deleted, never reserved.
  BinlogRecord record;
  std::uint32_t tube = 0;       ///< place in `Binlog::tubes`
  std::uint32_t file = 0;       ///< place in `Binlog::files`
  std::uint64_t buried_at = 0;  ///< place in the order of burials
};

/// What beanstalkd would find in its directory after a restart. It does better in four points: a
/// long job does not end its file, a body that was not written to its end is no job, a burial is
/// not counted once more, and buried jobs keep their order as far as the log has it.
///
/// Changes nothing in the directory, and keeps beanstalkd from starting on it as long as it lives.
/// Keeps no bodies in memory.
class Binlog {
 public:
  /// Reads all files of the directory, also damaged ones. A problem: there are none, one is of
  /// another version, or a beanstalkd uses the directory.
  [[nodiscard]] static Outcome<Binlog> read(journal::FileSystem& files,
                                            const std::string& directory);

  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }
  [[nodiscard]] const std::vector<std::string>& tubes() const { return tubes_; }

  /// In the order of their bodies in the files.
  [[nodiscard]] std::vector<const BinlogJob*> jobs() const;

  /// The greatest id in the log.
  [[nodiscard]] JobId last_id() const { return last_id_; }
  [[nodiscard]] bool has_jobs() const { return !jobs_.empty(); }

  /// Where a record was not written to its end, a line each. Nobody was told that it was.
  [[nodiscard]] const std::vector<std::string>& torn() const { return torn_; }
  /// What could not be read, a line each.
  [[nodiscard]] const std::vector<std::string>& damages() const { return damages_; }

 private:
  explicit Binlog(journal::Descriptor lock) : lock_(std::move(lock)) {}

  /// The file that is the last in `files_`.
  [[nodiscard]] Outcome<Done> read_file(journal::FileSystem& files, bool is_newest);
  void take(const BinlogRecord& record, std::uint32_t file);
  [[nodiscard]] std::uint32_t tube_of(std::string_view name);

  journal::Descriptor lock_;
  std::vector<std::string> files_;
  std::vector<std::string> tubes_;
  absl::flat_hash_map<std::string, std::uint32_t> tube_places_;
  absl::flat_hash_map<JobId, BinlogJob> jobs_;
  std::uint64_t burials_ = 0;
  JobId last_id_ = 0;
  std::vector<std::string> torn_;
  std::vector<std::string> damages_;
};

/// No file of a binlog is longer: beanstalkd's `-s` is less than 2 GiB, and so is a job.
constexpr std::uint64_t kBinlogBytesMax = std::uint64_t{4} << 30;

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

/// The contents of a file. Files are as long as beanstalkd makes them (10 MiB, unless told
/// otherwise), and are read at once.
Outcome<std::string> read_whole_file(journal::FileSystem& files, const std::string& path) {
  auto bytes = journal::read_up_to(files, path, kBinlogBytesMax + 1);
  if (!bytes || bytes->size() <= kBinlogBytesMax) return bytes;
  return Problem{path + " is longer than any file of beanstalkd"};
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

/// Far more than any server has drawn, and far less than would use up the numbers.
constexpr JobId kImportedIdMax = JobId{1} << 62;

/// Why a job cannot be taken; empty: it can.
std::string_view refusal_of(const BinlogJob& job, std::string_view tube, JobId shift) {
  if (!beanstalk::is_tube_name(tube)) return "in a tube with a name that no client can use";
  if (job.record.body_bytes > kBodyBytesMax) return "longer than 1 GiB";
  const bool fits = shift <= kImportedIdMax && job.record.id <= kImportedIdMax - shift;
  if (!fits) return "with an id that no server has drawn";
  return {};
}

/// A damaged file may have any id: those that no server reaches are left out.
JobId last_used_id(const Binlog& binlog) {
  return binlog.last_id() > kImportedIdMax ? 0 : binlog.last_id();
}

/// Those that are buried, or those that are not, in the order of their bodies in the files.
std::vector<const BinlogJob*> select(const Binlog& binlog, bool are_buried) {
  std::vector<const BinlogJob*> jobs = binlog.jobs();
  std::erase_if(jobs, [=](const BinlogJob* job) {
    return (job->record.state == BinlogRecord::State::kBuried) != are_buried;
  });
  return jobs;
}

/// The directory as every later call names it, too: one line, however odd the name is.
std::string source_name(const ImportChoice& choice) {
  constexpr std::size_t kBytesMax = 4096;
  std::error_code error;
  const auto path = std::filesystem::canonical(choice.beanstalkd, error);
  return "beanstalkd's " + one_line(error ? choice.beanstalkd : path.string(), kBytesMax);
}

class BinlogImport {
 public:
  BinlogImport(journal::FileSystem& files, const Binlog& binlog, ImportTarget& target)
      : files_(files), binlog_(binlog), target_(target) {}

  Outcome<Done> write_all() {
    for (const BinlogJob* job : select(binlog_, false)) {
      if (auto written = write(*job, stored_put_job(job->record, target_)); !written) {
        return written;
      }
    }
    return write_buried();
  }

  [[nodiscard]] const TransferTable& table() const { return table_; }
  [[nodiscard]] JobId last_id() const { return last_id_; }

 private:
  /// Dead jobs are in the order of their deaths. So these are drawn in the order of the burials;
  /// the jobs are written in that of the files, each of which is read once.
  Outcome<Done> write_buried() {
    const std::vector<const BinlogJob*> jobs = select(binlog_, true);
    std::vector<std::size_t> order(jobs.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return jobs[a]->buried_at < jobs[b]->buried_at;
    });
    std::vector<Time> deaths(jobs.size());
    for (const std::size_t i : order) deaths[i] = target_.draw_death();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      StoredJob fields = stored_put_job(jobs[i]->record, target_, deaths[i]);
      if (auto written = write(*jobs[i], std::move(fields)); !written) return written;
    }
    return Done{};
  }

  Outcome<Done> write(const BinlogJob& job, StoredJob fields) {
    const std::string& tube = binlog_.tubes()[job.tube];
    const std::string_view state = state_name(job.record.state);
    if (const auto reason = refusal_of(job, tube, target_.id_shift()); !reason.empty()) {
      table_.add_refused(tube, state, reason);
      return Done{};
    }
    if (auto opened = open_file(job.file); !opened) return opened;
    const std::string_view file = contents_;
    if (job.record.body_at + job.record.body_bytes > file.size()) {
      return Problem{binlog_.files()[job.file] + " was changed meanwhile"};
    }
    const JobId id = job.record.id + target_.id_shift();
    fields.sequence = id;
    last_id_ = std::max(last_id_, id);
    table_.add_taken(tube, state);
    return target_.add(JobAdded{.id = id,
                                .queue = tube,
                                .body = file.substr(job.record.body_at, job.record.body_bytes),
                                .fields = std::move(fields)});
  }

  Outcome<Done> open_file(std::uint32_t file) {
    if (open_file_ == file) return Done{};
    auto bytes = read_whole_file(files_, binlog_.files()[file]);
    if (!bytes) return bytes.error();
    contents_ = std::move(*bytes);
    open_file_ = file;
    return Done{};
  }

  journal::FileSystem& files_;
  const Binlog& binlog_;
  ImportTarget& target_;
  TransferTable table_{{.queue = "tube"}};
  JobId last_id_ = 0;
  std::uint32_t open_file_ = std::numeric_limits<std::uint32_t>::max();
  std::string contents_;  ///< of that file
};

/// The first, and how many more there are.
std::string told(const std::vector<std::string>& damages) {
  const std::size_t more = damages.size() - 1;
  return damages.front() + (more == 0 ? "" : " (and " + std::to_string(more) + " more)");
}

JournalReport report_of(const Binlog& binlog, const TransferTable& table,
                        const ImportChoice& choice, JobId shift) {
  JournalReport report{.text = table.text(), .damage = table.damage()};
  if (binlog.has_jobs()) report.text += ids_text(shift);
  for (const std::string& place : binlog.torn()) report.text += "torn: " + place + "\n";
  for (const std::string& damage : binlog.damages()) report.text += "damage: " + damage + "\n";
  report.text += "next: start a server with the data directory " + choice.into + "\n";
  if (!binlog.damages().empty()) {
    report.damage = "not all of " + choice.beanstalkd + " was read: " + told(binlog.damages());
  }
  return report;
}

}  // namespace

Outcome<JournalReport> import_binlog(const ImportChoice& choice) {
  journal::PosixFileSystem files;
  const auto binlog = Binlog::read(files, choice.beanstalkd);
  if (!binlog) return binlog.error();
  if (!binlog->damages().empty() && !choice.skips_damage) {
    return Problem{told(binlog->damages()) +
                   "; nothing was written; --skip-damage takes what can be read"};
  }
  auto target = ImportTarget::open(
      files, {.directory = choice.into, .source = source_name(choice), .merges = choice.merges});
  if (!target) return target.error();
  BinlogImport import(files, *binlog, **target);
  if (auto written = import.write_all(); !written) return written.error();
  const JobId shift = (*target)->id_shift();
  // What beanstalkd has used is not used again, though beanstalkd would.
  const JobId next_id = std::max(import.last_id(), last_used_id(*binlog) + shift) + 1;
  if (auto ended = (*target)->finish(next_id); !ended) return ended.error();
  return report_of(*binlog, import.table(), choice, shift);
}

}  // namespace millrace::tools
