#include "tools/import/import_binlog.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "beanstalk/argument.hpp"
#include "tools/import/binlog.hpp"
#include "tools/import/import_target.hpp"
#include "tools/import/put_job.hpp"
#include "tools/peers/transfer_table.hpp"

namespace millrace::tools {
namespace {

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
