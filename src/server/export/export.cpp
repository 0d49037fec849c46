#include "server/export/export.hpp"

#include <absl/container/flat_hash_map.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/state/ledger.hpp"
#include "faktory/job/work_unit.hpp"
#include "http/kit/text.hpp"
#include "journal/file/file_system.hpp"
#include "server/export/export_mark.hpp"
#include "server/export/receiver.hpp"
#include "server/export/to_beanstalkd.hpp"
#include "server/export/to_faktory.hpp"
#include "server/import/import_table.hpp"
#include "server/peers/peer_addresses.hpp"
#include "server/process/clock.hpp"
#include "server/tools/progress_line.hpp"
#include "server/tools/stopped_journal.hpp"

namespace millrace::server {
namespace {

/// So many jobs are sent before their answers are read. After a crash they are given again.
constexpr std::size_t kGivenAtOnce = 100;
constexpr std::size_t kGivenBytesAtOnce = std::size_t{8} << 20;
/// The bodies that may be in memory; the others are read from the journal when it is their turn.
constexpr std::size_t kExportMemory = std::size_t{256} << 20;

constexpr const char* kToForms =
    "--to: not beanstalk://HOST[:PORT], and not tcp://[:PASSWORD@]HOST[:PORT] or "
    "tcp+tls://... for Faktory";

std::string_view exported_state_name(JobState state) {
  switch (state) {
    case JobState::kScheduled:
      return "scheduled";
    case JobState::kReady:
      return "ready";
    case JobState::kReserved:
      return "reserved";
    case JobState::kRetrying:
      return "retrying";
    case JobState::kDead:
      break;
  }
  return "dead";
}

/// All jobs and queues of the journal.
class StoppedServer {
 public:
  [[nodiscard]] static Outcome<std::unique_ptr<StoppedServer>> open(const std::string& directory) {
    std::unique_ptr<StoppedServer> server(new StoppedServer);
    auto journal = open_stopped_journal(server->files_, directory);
    if (!journal) return journal.error();
    server->journal_ = std::move(*journal);
    if (auto read = server->read(); !read) return read.error();
    return server;
  }

  [[nodiscard]] journal::FileSystem& files() { return files_; }
  [[nodiscard]] const Store& store() const { return ledger_.store(); }
  [[nodiscard]] Lsn log_end() const { return log_end_; }
  [[nodiscard]] Time now() { return clock_.now(); }
  [[nodiscard]] WallClock wall() const { return store().wall_clock(); }

  /// The jobs in the order in which workers would get them: queue by queue, first those that
  /// workers had. The same for each export of the same journal.
  [[nodiscard]] std::vector<JobSlot> jobs() const;
  /// Queues that are paused without end.
  [[nodiscard]] std::vector<std::string_view> paused() const;

 private:
  StoppedServer() = default;
  [[nodiscard]] Outcome<Done> read();

  journal::PosixFileSystem files_;
  std::unique_ptr<journal::FileJournal> journal_;
  Ledger ledger_;
  SystemClock clock_;
  Lsn log_end_ = 0;
};

Outcome<Done> StoppedServer::read() {
  ledger_.memory().limit(*journal_, kExportMemory);
  ledger_.store().set_replaying(true);
  auto replayed = journal_->replay([&](std::string_view batch, Lsn begin) {
    log_end_ = begin + batch.size();
    return ledger_.replay(batch, begin);
  });
  if (!replayed) return replayed;
  ledger_.store().set_replaying(false);
  clock_.go_on_from(ledger_.latest_time());
  ledger_.store().set_wall_clock(clock_.look());
  return Done{};
}

std::vector<JobSlot> StoppedServer::jobs() const {
  absl::flat_hash_map<QueueId, std::vector<JobSlot>> held;
  for (const TimeEntry& entry : store().orders().reserved()) {
    held[store().jobs().at(entry.slot).queue].push_back(entry.slot);
  }
  std::vector<JobSlot> slots;
  for (const auto& [created, id] : store().queues().by_creation()) {
    const Queue& queue = store().queues().at(id);
    const auto& first = held[id];
    slots.insert(slots.end(), first.begin(), first.end());
    for (const ReadyEntry& entry : queue.ready) slots.push_back(entry.slot);
    for (const TimeEntry entry : store().delayed(queue)) slots.push_back(entry.slot);
    for (const TimeEntry& entry : queue.dead) slots.push_back(entry.slot);
  }
  return slots;
}

std::vector<std::string_view> StoppedServer::paused() const {
  std::vector<std::string_view> names;
  for (const auto& [created, id] : store().queues().by_creation()) {
    const Queue& queue = store().queues().at(id);
    if (queue.paused_until == kNever) names.push_back(queue.name);
  }
  return names;
}

/// One run of the command.
class Export {
 public:
  Export(StoppedServer& server, Receiver& receiver, const std::string& directory, ExportMark mark)
      : server_(server), receiver_(receiver), directory_(directory), mark_(std::move(mark)) {}

  Outcome<JournalReport> run();

 private:
  Outcome<std::vector<std::string>> pause_queues();
  Outcome<Done> give_some(const std::vector<JobSlot>& slots);
  void count(const LeavingJob& leaving, const std::string& refusal);
  [[nodiscard]] std::string left_behind() const;

  StoppedServer& server_;
  Receiver& receiver_;
  const std::string& directory_;
  ExportMark mark_;
  std::uint64_t began_at_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t members_ = 0;  ///< jobs of batches
  ImportTable table_{{.queue = "queue", .taken = "given", .refused = "not given"}};
};

Outcome<JournalReport> Export::run() {
  const std::vector<JobSlot> slots = server_.jobs();
  began_at_ = mark_.given;
  if (auto marked = write_export_mark(server_.files(), directory_, mark_); !marked) {
    return marked.error();
  }
  // Now those that are there already, before they have jobs; after all jobs, the others.
  if (auto paused = pause_queues(); !paused) return paused.error();
  ProgressLine progress("exported", slots.size());
  while (!mark_.is_done()) {
    if (auto given = give_some(slots); !given) return given.error();
    progress.show(mark_.given);
  }
  progress.end();
  const auto unpaused = pause_queues();
  if (!unpaused) return unpaused.error();
  JournalReport report{.text = table_.text(), .damage = {}};
  if (began_at_ > 0) {
    report.text += "goes on: " + std::to_string(began_at_) +
                   " jobs were given before, and are not in this table; up to " +
                   std::to_string(kGivenAtOnce) + " of those that came next may be there twice\n";
  }
  for (const std::string& queue : *unpaused) report.text += "not paused there: " + queue + "\n";
  report.text += left_behind();
  report.text += "next: start the workers on " + receiver_.name() +
                 "; no server starts on this directory while it has the file `export`\n";
  if (refused_ > 0) {
    report.damage = std::to_string(refused_) + " jobs were not taken by " + receiver_.name() +
                    "; they are in " + directory_ + " still";
  }
  return report;
}

/// Answers those that the other server cannot pause.
Outcome<std::vector<std::string>> Export::pause_queues() {
  std::vector<std::string> others;
  for (const std::string_view queue : server_.paused()) {
    const auto paused = receiver_.pause(queue);
    if (!paused) return paused.error();
    if (!*paused) others.emplace_back(queue);
  }
  return others;
}

Outcome<Done> Export::give_some(const std::vector<JobSlot>& slots) {
  const Jobs& jobs = server_.store().jobs();
  std::vector<LeavingJob> leaving;
  std::vector<BodyPin> bodies;
  std::size_t bytes = 0;
  for (std::size_t i = mark_.given; i < slots.size() && leaving.size() < kGivenAtOnce; ++i) {
    const Job& job = jobs.with_body(slots[i]);
    // What was read back stays in memory only until something else is.
    if (job.body_bytes > 0) bodies.push_back(jobs.bodies().pin(job));
    leaving.push_back({.job = &job, .queue = server_.store().queues().at(job.queue).name});
    bytes += job.body_bytes;
    if (bytes >= kGivenBytesAtOnce) break;
  }
  const auto refusals = receiver_.give(leaving, server_.now(), server_.wall());
  if (!refusals) return refusals.error();
  for (std::size_t i = 0; i < leaving.size(); ++i) count(leaving[i], (*refusals)[i]);
  mark_.given += leaving.size();
  return write_export_mark(server_.files(), directory_, mark_);
}

void Export::count(const LeavingJob& leaving, const std::string& refusal) {
  const std::string_view state = exported_state_name(leaving.job->state);
  if (leaving.job->features && leaving.job->features->is_member()) ++members_;
  if (refusal.empty()) return table_.add_taken(leaving.queue, state);
  ++refused_;
  table_.add_refused(leaving.queue, state, refusal);
}

/// What no other server takes.
std::string Export::left_behind() const {
  std::string text;
  if (members_ > 0) {
    text += "warning: " + std::to_string(members_) +
            " of them are in batches, whose callbacks are not given: they come from nowhere\n";
  }
  return text;
}

/// The mark to go on from: that of an export to the same server that was cut short, or a new one.
Outcome<ExportMark> mark_of(StoppedServer& server, const std::string& directory,
                            const std::string& target) {
  const auto before = read_export_mark(server.files(), directory);
  if (!before) return before.error();
  const ExportMark fresh{
      .target = target, .log_end = server.log_end(), .given = 0, .jobs = server.jobs().size()};
  if (!*before) return fresh;
  const std::string name = directory + "/export";
  if ((*before)->target != target) {
    return Problem{"jobs of " + directory + " were exported to " + (*before)->target +
                   "; to give them to another server as well, remove the file " + name};
  }
  if ((*before)->log_end != fresh.log_end || (*before)->jobs != fresh.jobs) {
    return Problem{directory +
                   " has changed since its export began; to give all of its jobs "
                   "again, remove the file " +
                   name};
  }
  return **before;
}

Outcome<std::unique_ptr<Receiver>> connect(const ExportChoice& choice,
                                           const WorkUnitFormat& format) {
  if (const auto target = parse_beanstalk_address(choice.to)) {
    auto peer = connect_beanstalk(*target);
    if (!peer) return peer.error();
    return std::unique_ptr<Receiver>(new ToBeanstalkd(std::move(*peer), format));
  }
  auto address = parse_faktory_address(choice.to);
  if (!address) return Problem{kToForms};
  if (address->password.empty()) address->password = choice.password;
  auto peer = connect_faktory(*address);
  if (!peer) return peer.error();
  return std::unique_ptr<Receiver>(new ToFaktory(std::move(*peer), format));
}

}  // namespace

Outcome<Done> check_export(const ExportChoice& choice) {
  if (choice.to.empty()) return Problem{"--to is required"};
  if (parse_beanstalk_address(choice.to) || parse_faktory_address(choice.to)) return Done{};
  return Problem{kToForms};
}

Outcome<JournalReport> export_jobs(const ExportChoice& choice) {
  auto server = StoppedServer::open(choice.directory);
  if (!server) return server.error();
  const faktory::WorkUnits format;
  auto receiver = connect(choice, format);
  if (!receiver) return receiver.error();
  auto mark = mark_of(**server, choice.directory, (*receiver)->name());
  if (!mark) return mark.error();
  if (mark->given > 0 && mark->is_done()) {
    return JournalReport{
        .text = "exported to " + mark->target + " before: " + http::grouped(mark->jobs) + " jobs\n",
        .damage = {}};
  }
  return Export(**server, **receiver, choice.directory, std::move(*mark)).run();
}

}  // namespace millrace::server
