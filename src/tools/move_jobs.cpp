#include "tools/move_jobs.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "engines/log_url.hpp"
#include "journal/file/file_system.hpp"
#include "journal/file_journal.hpp"
#include "journal/shared/cache_directory.hpp"
#include "journal/shared/log_filler.hpp"
#include "journal/shared/replicated_journal.hpp"
#include "server/net/poller.hpp"
#include "server/process/clock.hpp"
#include "server/process/process.hpp"
#include "server/shared_log.hpp"
#include "tools/directory/check.hpp"
#include "tools/directory/marks.hpp"
#include "tools/directory/stopped_journal.hpp"

namespace millrace::tools {
namespace {

using journal::DirectoryContent;

/// Whether the lease of a dead leader is over is looked at so often.
constexpr std::chrono::milliseconds kLookInterval{50};
/// An engine that cannot be reached for so long is given up.
constexpr std::chrono::seconds kUnreachableMax{30};

/// A log that has changed meanwhile is read so often.
constexpr int kFillsMax = 5;
constexpr std::chrono::seconds kRefillWait{1};

/// The names of the commands in the log, with the place of the directory.
constexpr std::string_view kToLog = "move-to-log of ";
constexpr std::string_view kToFile = "move-to-file ";

/// Longer names of directories are cut.
constexpr std::size_t kPlaceBytesMax = 1000;

/// Names the directory among all machines.
std::string place_of(const std::string& directory) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::weakly_canonical(directory, error);
  return (server::host_facts().hostname + ":" + (error ? directory : path.string()))
      .substr(0, kPlaceBytesMax);
}

Outcome<Done> ignore(std::string_view, Lsn) {
  return Done{};
}

// ---- to a file ----------------------------------------------------------------------------------

enum class Came {
  kToLead,
  kToUselessCache,
};

/// Follows the log to its end, and holds it.
class Follower {
 public:
  Follower(journal::ReplicatedJournal& journal, server::Clock& clock, const server::Config& config)
      : journal_(journal),
        clock_(clock),
        name_(config.node),
        is_again_(config.moves_again),
        reached_at_(clock.now()) {
    journal_.on_durable([this] { poller_.wake(); });
  }
  ~Follower() { journal_.on_durable({}); }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  Outcome<Came> run() {
    if (auto replayed = journal_.replay(ignore); !replayed) {
      if (journal_.is_cache_useless()) return Came::kToUselessCache;
      return replayed.error();
    }
    for (;;) {
      const auto followed = journal_.follow(ignore);
      if (!followed) return followed.error();
      if (*followed == SharedJournal::Followed::kUseless) return Came::kToUselessCache;
      if (*followed == SharedJournal::Followed::kLeads) return Came::kToLead;
      const bool may_claim = journal_.may_claim();
      if (auto fit = refuse_others(may_claim); !fit) return fit.error();
      if (may_claim) journal_.claim();
      poller_.take(kLookInterval);
    }
  }

 private:
  /// `is_at_end`: all of the log was followed, and no node leads it.
  Outcome<Done> refuse_others(bool is_at_end) {
    const std::string problem = journal_.problem();
    if (problem.empty()) reached_at_ = clock_.now();
    if (clock_.now() > reached_at_ + kUnreachableMax) return Problem{problem};
    const auto leader = journal_.leader();
    if (!leader || leader->node == name_) return Done{};
    if (journal_.hears_leader()) {
      return Problem{"the node " + leader->node + " leads the log: stop all nodes first"};
    }
    const bool is_held = leader->holds && !leader->has_released;
    if (!is_held || !is_at_end) return Done{};
    if (leader->node.starts_with(kToLog)) {
      return Problem{"jobs are still being moved to the log (" + leader->node +
                     "): run that command to its end"};
    }
    if (is_again_) return Done{};
    return Problem{"the jobs of the log were moved, or are being moved (" + leader->node +
                   "); to move them once more, add --again"};
  }

  journal::ReplicatedJournal& journal_;
  server::Clock& clock_;
  const std::string name_;
  const bool is_again_;
  Time reached_at_;
  server::Poller poller_;  ///< for `wake`
};

using Service = std::unique_ptr<journal::LogService>;

/// A name that was mistyped makes an empty log.
Outcome<Service> open_filled_log(const server::Config& config, const server::Log& log) {
  server::note_exposure(config, log);
  auto service = server::open_log(config);
  if (!service) return service.error();
  const auto extent = (*service)->extent();
  if (!extent) return extent.error();
  if (extent->last == 0) return Problem{"the log has no jobs"};
  return service;
}

/// Fills the cache, and holds the log.
Outcome<Came> fill_cache(const server::Config& config, journal::FileSystem& files,
                         const server::Log& log) {
  auto service = open_filled_log(config, log);
  if (!service) return service.error();
  server::SystemClock clock;
  auto journal = server::open_holding_journal(config, files, clock, log, std::move(*service));
  if (!journal) return journal.error();
  // Its destructor writes everything to the disk.
  return Follower(**journal, clock, config).run();
}

/// Jobs that were moved to one log must not go to another one as well.
Outcome<Done> refuse_second_log(journal::FileSystem& files, const server::Config& config) {
  const auto moved_to = journal::moved_to(files, config.data);
  if (!moved_to) return moved_to.error();
  if (moved_to->empty() || *moved_to == engines::shown_url(config.log)) return Done{};
  return Problem{"the jobs of " + config.data + " were moved to the log " + *moved_to + " before"};
}

/// Tells a person now and then that there is progress.
class Progress {
 public:
  Progress(server::Clock& clock, const server::Log& log)
      : clock_(clock), log_(log), reported_at_(clock.now()) {}

  void note(std::uint64_t writes) {
    if (clock_.now() < reported_at_ + kInterval) return;
    reported_at_ = clock_.now();
    log_.routine("moving", {{"writes", writes}});
  }

 private:
  static constexpr std::chrono::seconds kInterval{5};

  server::Clock& clock_;
  const server::Log& log_;
  Time reported_at_;
};

/// Adds all batches. A problem of the log is no damage of the journal.
Outcome<Done> fill_log(journal::FileJournal& journal, journal::LogFiller& filler,
                       server::Clock& clock, const server::Log& log) {
  Progress progress(clock, log);
  std::optional<Problem> problem;
  const auto replayed = journal.replay([&](std::string_view batch, Lsn) -> Outcome<Done> {
    progress.note(filler.batches());
    auto added = filler.add(batch);
    if (!added) problem = added.error();
    return added;
  });
  if (problem) return *problem;
  if (!replayed) return replayed.error();
  return filler.settle();
}

Outcome<std::string> fill_new_log(const server::Config& config, const server::Log& log) {
  journal::PosixFileSystem files;
  if (auto kept = refuse_exported(config.data); !kept) return kept.error();
  auto journal = open_stopped_journal(files, config.data);
  if (!journal) return journal.error();
  server::note_exposure(config, log);
  auto service = server::open_log(config);
  if (!service) return service.error();
  if (auto fit = refuse_second_log(files, config); !fit) return fit.error();
  server::SystemClock clock;
  journal::LogFiller filler(**service, {.name = std::string(kToLog) + place_of(config.data),
                                        .writer = server::random_name(),
                                        .log = server::random_name(),
                                        .now = [&clock] { return clock.now(); }});
  if (auto begun = filler.begin(); !begun) return begun.error();
  if (auto filled = fill_log(**journal, filler, clock, log); !filled) return filled.error();
  const std::string url = engines::shown_url(config.log);
  if (auto marked = journal::mark_as_moved(files, config.data, url); !marked) {
    return marked.error();
  }
  // Only now: the jobs are never served at both places.
  if (auto released = filler.release(); !released) return released.error();
  if (filler.was_done()) {
    return "moved to " + url + " before: " + std::to_string(filler.batches()) +
           " writes; nodes may have led the log since\n";
  }
  return "moved to " + url + ": " + std::to_string(filler.batches()) +
         " writes\nnext: start each node with --log and a new --data\n";
}

}  // namespace

/// What a former run has sent may be stored while this one runs: then it reads the log once more.
Outcome<std::string> move_to_log(const server::Config& config, const server::Log& log) {
  for (int tries = 1;; ++tries) {
    auto moved = fill_new_log(config, log);
    if (moved || !moved.error().is_passing || tries == kFillsMax) return moved;
    server::Poller().take(kRefillWait);
  }
}

Outcome<std::string> move_to_file(const server::Config& config, const server::Log& log) {
  journal::PosixFileSystem files;
  const auto content = journal::look_into(files, config.data);
  if (!content) return content.error();
  if (*content == DirectoryContent::kJournal || *content == DirectoryContent::kMoved) {
    return Problem{config.data +
                   " has a journal already, perhaps since the jobs were moved to it before: see "
                   "`millrace check`, or name a new directory"};
  }
  server::Config mover = config;
  mover.node = std::string(kToFile) + place_of(config.data);
  auto came = fill_cache(mover, files, log);
  if (came && *came == Came::kToUselessCache) {
    if (auto emptied = journal::empty_cache(files, config.data); !emptied) return emptied.error();
    came = fill_cache(mover, files, log);
  }
  if (!came) return came.error();
  if (*came != Came::kToLead) return Problem{"the log was trimmed meanwhile: run it again"};
  const Outcome<JournalReport> report = check_journal(config.data);
  if (!report) return report.error();
  if (report->damage) return Problem{*report->damage};
  if (auto unmarked = journal::unmark_cache(files, config.data); !unmarked) {
    return unmarked.error();
  }
  return "moved to " + config.data + ":\n" + report->text +
         "next: start one server with --data, without --log\n";
}

}  // namespace millrace::tools
