#include "tools/export/export.hpp"

#include <absl/container/flat_hash_map.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/interrupts.hpp"
#include "core/state/ledger.hpp"
#include "faktory/job/work_unit.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "journal/file/file_system.hpp"
#include "server/process/clock.hpp"
#include "tools/directory/marks.hpp"
#include "tools/directory/progress_line.hpp"
#include "tools/directory/stopped_journal.hpp"
#include "tools/export/receiver.hpp"
#include "tools/export/to_beanstalkd.hpp"
#include "tools/export/to_faktory.hpp"
#include "tools/peers/peer_addresses.hpp"
#include "tools/peers/transfer_table.hpp"

namespace millrace::tools {
namespace {

/// So many jobs are sent before their answers are read. After a crash they are given again.
constexpr std::size_t kGivenAtOnce = 100;
constexpr std::size_t kGivenBytesAtOnce = std::size_t{8} << 20;
/// The bodies that may be in memory; the others are read from the journal when it is their turn.
constexpr std::size_t kExportMemory = std::size_t{256} << 20;

constexpr const char* kToForms =
    "--to: not beanstalk://HOST[:PORT], and not tcp://[:PASSWORD@]HOST[:PORT] or "
    "tcp+tls://... for Faktory";

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

  /// All dead jobs, the oldest first. Then the others, in the order in which workers would get
  /// them: queue by queue, first those that workers had. The same for each export of one journal.
  [[nodiscard]] const std::vector<JobSlot>& jobs() const { return jobs_; }
  [[nodiscard]] std::size_t dead_count() const { return store().jobs().orders().dead().size(); }
  /// Queues that are paused now.
  [[nodiscard]] std::vector<const Queue*> paused(Time now) const;

 private:
  StoppedServer() = default;
  [[nodiscard]] Outcome<Done> read();
  void line_up();

  journal::PosixFileSystem files_;
  std::unique_ptr<journal::FileJournal> journal_;
  Ledger ledger_;
  server::SystemClock clock_;
  Lsn log_end_ = 0;
  std::vector<JobSlot> jobs_;
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
  line_up();
  return Done{};
}

void StoppedServer::line_up() {
  absl::flat_hash_map<QueueId, std::vector<JobSlot>> held;
  for (const TimeEntry& entry : store().jobs().orders().reserved()) {
    held[store().jobs().at(entry.slot).queue].push_back(entry.slot);
  }
  for (const TimeEntry& entry : store().jobs().orders().dead()) jobs_.push_back(entry.slot);
  for (const auto& [created, id] : store().queues().by_creation()) {
    const Queue& queue = store().queues().at(id);
    const auto& first = held[id];
    jobs_.insert(jobs_.end(), first.begin(), first.end());
    for (const ReadyEntry& entry : queue.ready) jobs_.push_back(entry.slot);
    for (const TimeEntry entry : store().delayed(queue)) jobs_.push_back(entry.slot);
  }
}

std::vector<const Queue*> StoppedServer::paused(Time now) const {
  std::vector<const Queue*> queues;
  for (const auto& [created, id] : store().queues().by_creation()) {
    const Queue& queue = store().queues().at(id);
    if (queue.is_paused(now)) queues.push_back(&queue);
  }
  return queues;
}

/// For the report of an export that has ended.
std::optional<std::string> not_taken(const ExportMark& mark, const std::string& directory) {
  if (mark.refused == 0) return std::nullopt;
  return http::count_of(mark.refused, "job") + " not taken by " + mark.target + ", and still in " +
         directory;
}

/// One run of the command.
class Export {
 public:
  Export(StoppedServer& server, Receiver& receiver, const std::string& directory, ExportMark mark)
      : server_(server), receiver_(receiver), directory_(directory), mark_(std::move(mark)) {}

  Outcome<JournalReport> run();

 private:
  Outcome<std::vector<std::string>> pause_queues();
  Outcome<Done> end_dead();
  Outcome<Done> give_all();
  Outcome<Done> give_some();
  void count(const LeavingJob& leaving, const std::string& refusal);
  [[nodiscard]] std::string left_behind() const;

  StoppedServer& server_;
  Receiver& receiver_;
  const std::string& directory_;
  ExportMark mark_;
  std::uint64_t began_at_ = 0;
  std::uint64_t members_ = 0;  ///< jobs of batches
  TransferTable table_{{.queue = "queue", .taken = "given", .refused = "not given"}};
};

Outcome<JournalReport> Export::run() {
  began_at_ = mark_.given;
  mark_.process = receiver_.process();
  if (auto marked = write_export_mark(server_.files(), directory_, mark_); !marked) {
    return marked.error();
  }
  // Now those that are there already, before they have jobs; after all jobs, the others.
  if (auto paused = pause_queues(); !paused) return paused.error();
  if (auto given = give_all(); !given) return given.error();
  const auto unpaused = pause_queues();
  if (!unpaused) return unpaused.error();
  JournalReport report{.text = table_.text(), .damage = {}};
  if (began_at_ > 0) {
    report.text += "goes on: " + http::count_of(began_at_, "job") +
                   " given before, not in this table; for each time that it was killed or lost its "
                   "connection, up to " +
                   std::to_string(kGivenAtOnce) + " jobs may be there twice\n";
  }
  for (const std::string& queue : *unpaused) report.text += "not paused there: " + queue + "\n";
  report.text += left_behind();
  report.text += "next: start the workers on " + receiver_.name() +
                 "; no server starts on this directory while it has the file `export`\n";
  report.damage = not_taken(mark_, directory_);
  return report;
}

/// A signal ends it between two batches, so that no job is given twice for it.
Outcome<Done> Export::give_all() {
  cli::Interrupts interrupts(cli::Interrupts::Hangup::kIsOne);
  ProgressLine progress("exported", mark_.jobs);
  while (!mark_.is_done()) {
    if (interrupts.wait(0ms)) {
      return Problem{"interrupted: " + http::grouped(mark_.given) + " of " +
                     http::count_of(mark_.jobs, "job") + " given to " + receiver_.name() +
                     "; the same command goes on"};
    }
    if (auto given = give_some(); !given) return given;
    progress.show(mark_.given);
  }
  return end_dead();
}

/// Answers those that the other server cannot pause.
Outcome<std::vector<std::string>> Export::pause_queues() {
  std::vector<std::string> others;
  for (const Queue* const queue : server_.paused(server_.now())) {
    // No other server knows a pause with an end.
    const auto paused =
        queue->paused_until == kNever ? receiver_.pause(queue->name) : Outcome<bool>(false);
    if (!paused) return paused.error();
    if (!*paused) others.push_back(queue->name);
  }
  return others;
}

Outcome<Done> Export::give_some() {
  if (auto ended = end_dead(); !ended) return ended;
  const Jobs& jobs = server_.store().jobs();
  const std::vector<JobSlot>& slots = server_.jobs();
  const bool gives_dead = mark_.given < server_.dead_count();
  const std::size_t end = gives_dead ? server_.dead_count() : slots.size();
  std::vector<LeavingJob> leaving;
  std::vector<BodyPin> bodies;
  std::size_t bytes = 0;
  for (std::size_t i = mark_.given; i < end && leaving.size() < kGivenAtOnce; ++i) {
    const Job& job = jobs.with_body(slots[i]);
    // What was read back stays in memory only until something else is.
    if (job.body) bodies.push_back(jobs.bodies().pin(job));
    leaving.push_back({.job = &job, .queue = server_.store().queues().at(job.queue).name});
    bytes += job.body_bytes;
    if (bytes >= kGivenBytesAtOnce) break;
  }
  const auto refusals = receiver_.give(leaving, server_.now(), server_.wall(), mark_.salt);
  if (!refusals) return refusals.error();
  for (std::size_t i = 0; i < leaving.size(); ++i) count(leaving[i], (*refusals)[i]);
  mark_.given += leaving.size();
  return write_export_mark(server_.files(), directory_, mark_);
}

/// At the moment at which all dead jobs were given.
Outcome<Done> Export::end_dead() {
  const bool is_moment = mark_.given == server_.dead_count() && mark_.given > 0;
  return is_moment ? receiver_.end_dead(mark_.salt) : Done{};
}

void Export::count(const LeavingJob& leaving, const std::string& refusal) {
  const std::string_view state = http::name_of(leaving.job->state);
  if (leaving.job->features && leaving.job->features->is_member()) ++members_;
  if (refusal.empty()) return table_.add_taken(leaving.queue, state);
  ++mark_.refused;
  table_.add_refused(leaving.queue, state, refusal);
}

/// What no other server takes, and what this one has otherwise.
std::string Export::left_behind() const {
  std::string text;
  if (const std::uint64_t cut = receiver_.cut_ttrs(); cut > 0) {
    text += "warning: " + http::count_of(cut, "job") +
            " had a TTR of more than a day, which is the longest there\n";
  }
  if (members_ > 0) {
    text += "warning: " + http::count_of(members_, "job") +
            " of batches; the batches and their callbacks are not there\n";
  }
  return text;
}

/// Why an export that was begun cannot go on.
Outcome<Done> refuse_to_go_on(const ExportMark& before, const ExportMark& fresh,
                              const ExportChoice& choice, const Receiver& receiver) {
  const std::string name = export_mark_path(choice.directory);
  const bool is_server = lead_to_one_port(before.target, fresh.target) ||
                         (receiver.is_process_unique() && receiver.is_process(before.process));
  if (!is_server) {
    return Problem{"jobs of " + choice.directory + " were exported to " + before.target + ", and " +
                   fresh.target +
                   " is another server, as far as can be seen: if it is the same one, name it as "
                   "before; to give them to another server as well, remove the file " +
                   name};
  }
  if (before.log_end != fresh.log_end || before.jobs != fresh.jobs) {
    return Problem{choice.directory +
                   " has changed since its export began; to give all of its jobs again, remove "
                   "the file " +
                   name};
  }
  if (choice.was_restarted || receiver.is_process(before.process)) return Done{};
  return Problem{before.target +
                 " was restarted since the export began, and may have lost jobs. If it has all " +
                 http::grouped(before.given) +
                 " that it was given, add --after-restart; if not, empty it and remove the file " +
                 name};
}

/// The mark to go on from: that of an export to the same server that was cut short, or a new one.
Outcome<ExportMark> mark_of(StoppedServer& server, const ExportChoice& choice,
                            const Receiver& receiver) {
  const auto before = read_export_mark(server.files(), choice.directory);
  if (!before) return before.error();
  std::random_device device;
  const ExportMark fresh{.target = receiver.name(),
                         .process = receiver.process(),
                         .log_end = server.log_end(),
                         .salt = device(),
                         .jobs = server.jobs().size()};
  if (!*before && choice.was_restarted) {
    return Problem{"no export of " + choice.directory +
                   " was begun: without --after-restart all of its jobs are given"};
  }
  // One that has given nothing binds nobody.
  if (!*before || (*before)->given == 0) return fresh;
  const auto fit = refuse_to_go_on(**before, fresh, choice, receiver);
  return fit ? Outcome<ExportMark>(**before) : fit.error();
}

Outcome<std::unique_ptr<Receiver>> connect(const ExportChoice& choice,
                                           const WorkUnitFormat& format) {
  if (const auto target = parse_beanstalk_address(choice.to)) {
    auto receiver = ToBeanstalkd::connect(*target, format);
    if (!receiver) return receiver.error();
    return std::unique_ptr<Receiver>(new ToBeanstalkd(std::move(*receiver)));
  }
  auto address = parse_faktory_address(choice.to);
  if (!address) return Problem{kToForms};
  if (address->password.empty()) address->password = choice.password;
  address->target.ca_file = choice.ca_file;
  auto receiver = ToFaktory::connect(*address, format);
  if (!receiver) return receiver.error();
  return std::unique_ptr<Receiver>(new ToFaktory(std::move(*receiver)));
}

constexpr const char* kExportFooter =
    "Exit status 0: the other server has all jobs. 1: not; the same command goes on, also after "
    "Ctrl-C. 2: wrong arguments. 4: it has all but those that it did not take, which the table "
    "counts.\n"
    "URL is beanstalk://HOST[:PORT] for beanstalkd. For Faktory it is as in FAKTORY_URL, "
    "tcp://[:PASSWORD@]HOST[:PORT] or tcp+tls://...; the variable FAKTORY_PASSWORD may have the "
    "password.";

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
  auto mark = mark_of(**server, choice, **receiver);
  if (!mark) return mark.error();
  if (mark->given > 0 && mark->is_done()) {
    return JournalReport{.text = "exported to " + mark->target + " before: " +
                                 http::count_of(mark->given - mark->refused, "job") + "\n",
                         .damage = not_taken(*mark, choice.directory)};
  }
  return Export(**server, **receiver, choice.directory, std::move(*mark)).run();
}

CLI::App* add_export_command(CLI::App& app, ExportChoice& choice) {
  CLI::App* const command =
      app.add_subcommand("export", "Export the jobs of a stopped server, or some of a running one");
  command
      ->add_option("DIR", choice.directory,
                   "The data directory of a stopped server; its jobs stay in it too, and are not "
                   "served. Without it, jobs of a running server are exported")
      ->type_name("");
  command->option_defaults()->take_last();
  command
      ->add_option(
          "--to", choice.to,
          "The server that gets the jobs of DIR (URL), which runs; without DIR a new file, or -")
      ->type_name("TARGET");
  command
      ->add_option("--ca", choice.ca_file,
                   "Certificates to check that of the server with (PEM), instead of the system's")
      ->type_name("FILE");
  command->add_flag("--after-restart", choice.was_restarted,
                    "Go on although that server was restarted: it has all that it was given");
  command->footer(kExportFooter);
  return command;
}

}  // namespace millrace::tools
