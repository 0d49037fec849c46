#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "beanstalk/service.hpp"
#include "core/broker/broker.hpp"
#include "faktory/job/work_unit.hpp"
#include "faktory/service.hpp"
#include "journal/file_journal.hpp"
#include "server/turn/compactor.hpp"
#include "simulation/audit/audit.hpp"
#include "simulation/backup.hpp"
#include "simulation/client.hpp"
#include "simulation/disk/faulty_disk.hpp"
#include "simulation/model/conversation.hpp"
#include "simulation/model/model.hpp"
#include "simulation/model/workload.hpp"
#include "simulation/shadow.hpp"

namespace millrace::simulation {

/// What became of jobs with features.
struct FeatureTotals {
  std::uint64_t worlds = 0;
  std::uint64_t not_unique = 0;  ///< pushes that were refused
  std::uint64_t expired = 0;
  std::uint64_t tracks = 0;  ///< that were told
  std::uint64_t batches = 0;
  std::uint64_t batches_dropped = 0;
  std::uint64_t callbacks = 0;
  std::uint64_t limits_by_hand = 0;
  std::uint64_t marks = 0;               ///< of errors, that were set or removed
  std::uint64_t views = 0;               ///< saved or removed
  std::uint64_t changes = 0;             ///< of people, that were noted or counted
  std::uint64_t tokens = 0;              ///< that were made or revoked
  std::uint64_t jobs_lost = 0;           ///< by workers that were gone
  std::uint64_t slots_reclaimed = 0;     ///< since their worker was gone
  std::uint64_t pushes_repeated = 0;     ///< that added no job
  std::uint64_t finished_recovered = 0;  ///< jobs that a start knew to have ended

  FeatureTotals& operator+=(const FeatureTotals& other);
};

struct Totals {
  std::uint64_t worlds = 0;
  std::uint64_t operations = 0;  ///< commands that clients sent
  std::uint64_t replies = 0;     ///< replies that clients received
  std::uint64_t batches = 0;
  std::uint64_t disk_changes = 0;
  std::uint64_t recoveries = 0;        ///< starts after a crash that read the log and served again
  std::uint64_t jobs_rewritten = 0;    ///< by compaction
  std::uint64_t segments_removed = 0;  ///< by compaction
  std::uint64_t batches_lost = 0;      ///< appended, not acknowledged, and gone in a crash
  std::array<std::uint64_t, kFaultCount> faults{};  ///< by kind, those that happened
  std::uint64_t orderly_ends = 0;
  std::uint64_t refused_starts = 0;  ///< for a fault that the start met; the next one went well
  std::uint64_t flips = 0;           ///< starts from a disk with a flipped bit
  std::uint64_t flips_refused = 0;
  std::uint64_t flips_cut = 0;
  std::uint64_t bodies_read = 0;   ///< from the log, since they were not in memory
  std::uint64_t bodies_lost = 0;   ///< reads of those that brought no body, for a fault
  std::uint64_t settled = 0;       ///< ends of a process whose log was demanded to be short
  std::uint64_t settled_full = 0;  ///< of those, on a full disk: all that was accepted is stored
  std::uint64_t emptied_full = 0;  ///< full disks on which all jobs were ended
  std::uint64_t sieges = 0;        ///< of the full ones, with long texts of failures
  std::uint64_t backups = 0;       ///< made while the server worked on, and started on
  std::uint64_t backups_failed = 0;
  std::uint64_t taken_away = 0;   ///< directories that somebody moved while they were in use
  std::uint64_t clock_jumps = 0;  ///< by a minute or more, or backwards
  std::uint64_t clock_steps = 0;  ///< of the wall clock, by somebody who sets it
  std::uint64_t spreads = 0;      ///< retries of all failed jobs, within some time
  std::uint64_t moves = 0;        ///< jobs that an administrator has moved to another queue
  std::uint64_t crowds = 0;       ///< more jobs than a chunk of the table has, that came and went
  std::uint64_t handed_out_again = 0;  ///< jobs whose reservation a crash took
  std::uint64_t unsynced_lost =
      0;  ///< batches that replies told of and a power cut took, as it may
  FeatureTotals features;

  Totals& operator+=(const Totals& other);
};

/// The whole server over a simulated disk and clock, one process after the other, with clients of
/// both protocols: everything follows from the seed. What it must hold, whatever happens:
///
///  * every reply is the one that the model foretells, and the server's state is the model's;
///  * after a crash the state is one that the server was in between two batches, not before the
///    last one that a client had a reply about; and replaying all batches gives the live state;
///  * a job that a client was handed is there after a crash, for others to take, where its
///    reservation is lost;
///  * a flipped bit or a read that fails never changes anything unnoticed;
///  * nothing becomes durable in a directory that somebody has moved away.
///
/// The parts are the real ones: sessions, broker, commit queue, journal. A `Violation` is thrown
/// when something does not hold.
class World {
 public:
  static constexpr std::array kUsualModes = {
      journal::SyncMode::kAlways, journal::SyncMode::kAlways,  journal::SyncMode::kAlways,
      journal::SyncMode::kAlways, journal::SyncMode::kAlways,  journal::SyncMode::kAlways,
      journal::SyncMode::kOff,    journal::SyncMode::kInterval};

  struct Options {
    std::uint64_t seed = 1;
    int lives = 20;            ///< processes, one after the other
    int steps_per_life = 120;  ///< at most, and ten times so many once in a while
    std::optional<Workload::Sizes> sizes = std::nullopt;  ///< else drawn: usual or crowded
    WorkerRules workers = {.timeout = 60s, .poison_after = 3};
    std::vector<journal::SyncMode> sync_modes = {kUsualModes.begin(), kUsualModes.end()};
    std::vector<std::uint64_t> segment_bytes = {512, 1024, 4096, 16384};  ///< one is drawn
    /// What jobs may take in memory; one is drawn, and 0 is no limit. With 1 no body stays.
    std::vector<std::uint64_t> memory_bytes = {0, 0, 1, 14'000, 18'000};

    // For tests of the simulation itself: put between the parts to break them.
    std::function<std::unique_ptr<journal::FileSystem>(journal::FileSystem&)> wrap_disk = {};
    std::function<std::unique_ptr<Journal>(Journal&)> wrap_journal = {};
    std::function<std::unique_ptr<journal::FileSystem>(journal::FileSystem&)> wrap_backup = {};
    std::function<void(Ledger&, Random&)> meddle = {};  ///< called once a step

    /// What a reply that hands out a job waits for; else drawn, and right.
    std::optional<Client::Fetches> fetches = std::nullopt;
    bool lets_all_write = false;  ///< also while the room of a full disk is needed to clean

    /// What a server makes of a step of the wall clock.
    enum class Steps {
      kFollowed,     ///< as it should be
      kUnnoticed,    ///< nothing: jobs with a time come by the steady time
      kByDelaysToo,  ///< all of its time jumps forward with the wall clock
    };
    Steps steps = Steps::kFollowed;

    /// Which pushes that are sent again it knows.
    enum class Repeats {
      kAll,           ///< as it should be
      kNone,          ///< each adds a job
      kSinceItsStart  ///< those of jobs that came before it add jobs
    };
    Repeats repeats = Repeats::kAll;

    /// What is recorded of a job that was released once, and is retried at a later time.
    enum class Spreads {
      kRight,
      kWithFormerDelay,  ///< the delay of the release, as if it had been released that much before
      kInOlderLogs,      ///< the same, and an older version has done so: nobody minds the records
      kBelieved,         ///< the same, and a new process takes such a delay for one of a release
    };
    Spreads spreads = Spreads::kRight;

    /// Is told what happens.
    std::function<void(const std::string&)> trace = {};
  };

  explicit World(Options options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void run();

  [[nodiscard]] const Totals& totals() const { return totals_; }

  /// A number that two runs share only when the same happened in both.
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  struct Process;
  class NotedReplay;
  class Recorder;
  class Environment;

  /// What the log held after a batch.
  struct Landmark {
    std::string batch;
    Lsn begin = 0;
    Facts facts;
  };
  struct Stream {
    std::vector<std::string> batches;
    std::vector<Lsn> begins;
    bool operator==(const Stream&) const = default;
  };

  // A process's life (world.cpp).
  void live();
  void step();
  void act();
  void nest();
  void client_step();
  void connect(std::size_t slot, bool is_worker);
  void resume_clients();
  void let_go(Lsn durable);
  void note_told(const Client::Told& told);
  void half_close(Client& client);
  void disconnect(std::size_t slot);
  void converse(Client& client);
  void say(Client& client, const std::vector<Command>& commands);
  void poll();
  bool disconnect_who_is_done();
  [[nodiscard]] server::Compactor::Limits limit(server::Compactor::Limits asked);
  void work(Time now);
  void count_crowds();
  void send_away(Time now);
  void count_features();
  void count_reply(const std::string& reply);
  [[nodiscard]] JobId callback_job(const std::string& bid, const std::string& role) const;
  void write();
  void write_as_it_is();
  void note_synced();
  void advance();
  void step_wall_clock();
  void set_limits();
  void set_worker_rules();
  void set_limits_by_hand();
  void mark_error();
  void save_view();
  void note_change();
  void change_token();
  void spread_retries();
  void move_jobs();
  void forget_delays(const std::map<JobId, std::uint32_t>& former);
  void observe();
  void observe(Client& client);
  void end_orderly();
  void compare_bodies();
  void compare_all();

  // How it comes to rest (rest.cpp).
  void come_to_rest();
  void settle_log();
  void end_all_jobs();
  void demand_answers();
  [[nodiscard]] bool is_spared() const;

  // Of another process (backup.cpp).
  void begin_backup();
  void advance_backup(std::uint64_t operations);
  void finish_backup();
  void start_on_copy(std::uint64_t promised);
  void leave_copy();
  void leave_copy_of_full_disk();

  // Crashes and what follows (recovery.cpp).
  void plan_fault();
  void note_fault();
  void take_away();
  void check_taken() const;
  void decay();
  void undo_decay();
  void let_read(const std::function<void()>& act);
  void body_is_lost(const std::string& problem);
  void recover();
  bool try_start(Stream& stream);
  void come_up();
  void check_recovered(const Stream& stream);
  [[nodiscard]] std::string difference();
  [[noreturn]] void fail_recovery();
  void check_live_is_replayed();
  void begin_time(Time wall, const Stream& stream);
  void check_times(std::string_view batch) const;
  void check_waits() const;
  void check_handed_out(std::uint64_t point);
  [[nodiscard]] std::uint64_t last_point() const { return first_point_ + landmarks_.size() - 1; }
  void advance_shadow();
  void flip_a_bit(journal::SimulatedDisk& disk, const Stream& whole);
  [[nodiscard]] journal::FileJournalOptions journal_options();
  void tell(const std::string& text);
  void mix(std::uint64_t number);

  const Options options_;
  Random random_;
  Random taking_;  ///< of its own: it was added later, and leaves all else as it was
  Random fetches_random_;
  /// For the wall clock alone: so the worlds are those that they were before it could be set.
  Random steps_random_;
  Random spreads_random_;  ///< of its own for the same reason
  Random moves_random_;    ///< the same
  Random marks_random_;    ///< the same
  Random views_random_;    ///< the same
  Random changes_random_;  ///< the same
  Random tokens_random_;   ///< the same
  Workload workload_;
  journal::SimulatedDisk platter_;
  FaultyDisk disk_;
  Model model_;
  Conversation conversation_;
  Time now_;
  LimitsByName limits_;            ///< in worlds with features
  Duration push_memory_{};         ///< the same
  FinishedJobs::Limits finished_;  ///< the same: in some of them
  Time latest_now_{};              ///< of all processes so far
  std::uint64_t segment_bytes_;
  std::uint64_t memory_bytes_;
  journal::SyncMode sync_mode_;
  Client::Fetches fetches_;

  std::unique_ptr<Process> process_;
  std::unique_ptr<journal::FileSystem> backup_files_;
  std::unique_ptr<Backup> backup_;           ///< at work
  std::map<std::string, std::string> copy_;  ///< what a backup and a start on it have left
  std::exception_ptr trouble_;               ///< met inside the journal, to be thrown outside of it
  bool is_writing_ = false;
  int nested_ = 0;           ///< how often the process has gone on during this write
  bool is_resting_ = false;  ///< clients say nothing of themselves
  ClientNumber next_client_ = 1;
  ClientNumber first_client_ = 1;  ///< of the process at hand
  std::uint64_t full_steps_ = 0;   ///< about how long a full disk lasts; 0: to the process's end
  bool was_spare_whole_ = false;   ///< when the process began
  bool was_held_ = false;          ///< in the last turn, compaction let nobody else write

  // The log as it should be. Points count its batches, from the beginning of the world.
  std::unique_ptr<Shadow> shadow_;  ///< has replayed everything up to `first_point_`
  std::deque<Landmark> landmarks_;  ///< the first is at `first_point_`
  std::uint64_t first_point_ = 0;
  std::uint64_t known_point_ = 0;  ///< a client had a reply that tells of everything up to here
  std::vector<Client::Told> handed_out_;  ///< by the process at hand, to clients that know
  std::uint64_t synced_point_ = 0;        ///< a power cut takes nothing up to here
  bool has_lost_power_ = false;           ///< since the last process that served
  std::vector<Lsn> round_begins_;  ///< where the log was synced before each round of the writer
  faktory::WorkUnits format_;

  std::optional<Fault> fault_;  ///< planned for the process at hand
  struct Decay {
    std::string path;
    std::size_t offset;
    char mask;
  };
  bool is_crowded_ = false;     ///< there were more jobs than a chunk has, and not few since
  std::optional<Decay> decay_;  ///< of the process at hand
  /// Somebody has moved the directory of the process at hand: what was durable then.
  std::optional<Lsn> taken_at_;
  bool is_body_lost_ = false;              ///< for a fault that the process at hand met
  std::optional<std::string> live_state_;  ///< of the last process, when it ended
  std::set<JobId> live_held_;
  Totals totals_;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace millrace::simulation
