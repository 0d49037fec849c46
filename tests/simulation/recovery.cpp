#include <algorithm>

#include "journal/file/log_format.hpp"
#include "server/role/replay.hpp"
#include "simulation/broken/broken_features.hpp"
#include "simulation/process.hpp"
#include "simulation/violation.hpp"
#include "simulation/world.hpp"

/// How processes of the simulation end, and what must be so when the next one begins.
namespace millrace::simulation {
namespace {

const std::string kDirectory = "/journal";

/// See Workload::draw_beanstalk.
constexpr Duration kPauseMax = 5s;

/// What TRACK SET makes of a reservation at most.
constexpr Duration kReservedMax = 24h;

/// Past the last byte that is not zero.
std::size_t used_bytes(const std::string& bytes) {
  return bytes.find_last_not_of('\0') + 1;
}

/// In half of the worlds all lines are parsed as long ones are.
faktory::Settings faktory_settings(std::uint64_t seed, Background& background) {
  if (seed % 2 == 0) return {};
  return {.background = &background, .in_place_bytes_max = 0};
}

}  // namespace

World::Process::Process(World& world, std::unique_ptr<journal::FileSystem> files,
                        std::unique_ptr<journal::FileJournal> opened)
    : wrapped_files(std::move(files)),
      journal(std::move(opened)),
      wrapped_journal(world.options_.wrap_journal ? world.options_.wrap_journal(*journal)
                                                  : nullptr),
      recorder(world, wrapped_journal ? *wrapped_journal : *journal),
      broker(ledger, world.format_,
             {.random_seed = world.random_.draw(),
              .lock_secret = {.low = world.random_.draw(), .high = 1},
              .pushes = {.is_on = world.options_.repeats != Options::Repeats::kNone,
                         .after_end = world.push_memory_},
              .finished = world.finished_}),
      beanstalk(broker, world.format_, {}, world.now_),
      faktory(broker, world.format_, faktory_settings(world.options_.seed, background), world.now_),
      environment(world),
      main({.broker = broker,
            .ledger = ledger,
            .journal = recorder,
            .clock = clock,
            .input = environment,
            .duties = environment}) {
  clock.set(world.now_);
  main.commits.lead(recorder.epoch());
  if (world.memory_bytes_ != 0) ledger.memory().limit(recorder, world.memory_bytes_);
}

journal::FileJournalOptions World::journal_options() {
  journal::FileJournalOptions options;
  options.segment_bytes = segment_bytes_;
  options.sync_mode = sync_mode_;
  options.reserved_segments = server::kReservedSegments;
  options.salt = random_.draw();
  options.is_stepped = true;
  // The real one ends the process here.
  options.on_failure = [this](const Problem& problem) {
    tell("the journal fails: " + problem.text);
    disk_.die();
  };
  return options;
}

// ---- ends ---------------------------------------------------------------------------------------

void World::plan_fault() {
  static const std::vector<Fault> kFaults = {
      Fault::kPowerCut,    Fault::kPowerCut,   Fault::kPowerCut, Fault::kKill,
      Fault::kFailedWrite, Fault::kFailedSync, Fault::kFullDisk,
  };
  static const std::vector<Fault> kReadFaults = {Fault::kFailedRead, Fault::kShortRead,
                                                 Fault::kDecay};
  const bool is_reading = memory_bytes_ != 0 && random_.one_in(3);
  fault_ = random_.pick(is_reading ? kReadFaults : kFaults);
  const bool is_siege = workload_.sizes().is_siege && !random_.one_in(4);
  if (is_siege) fault_.reset();
  full_steps_ = is_siege || random_.one_in(4) ? 0 : random_.one_in(4) ? 100 : 10;
  // Without syncs nothing is promised for a power cut.
  if (fault_ == Fault::kPowerCut && sync_mode_ == journal::SyncMode::kOff) fault_ = Fault::kKill;
  const bool is_seldom = fault_ == Fault::kFullDisk;
  const std::uint64_t last = is_siege ? 400 : is_seldom || is_reading ? 4 : 30;
  if (fault_) disk_.plan(*fault_, random_.between(1, last));
}

void World::note_fault() {
  if (!fault_ || !disk_.has_struck()) return;
  ++totals_.faults[static_cast<std::size_t>(*fault_)];
}

/// The files stay as they are: for the process that has them open, and for the next one, since
/// somebody moves the directory back.
void World::take_away() {
  tell("somebody moves the directory");
  ++totals_.taken_away;
  taken_at_ = process_->journal->durable();
  platter_.take_away(kDirectory);
}

void World::check_taken() const {
  if (!taken_at_) return;
  demand(process_->journal->durable() == *taken_at_,
         "something became durable in a directory that was moved away");
}

/// A bit of something durable, which is never written again.
void World::decay() {
  const Journal::Extent log = process_->recorder.extent();
  // What was not synced may be lost with a flip in it, and then there would be none to undo.
  const Lsn synced = process_->journal->synced();
  if (synced <= log.begin) return;
  leave_copy();  // it may share the file, and have it for longer
  const Lsn at = random_.between(log.begin, synced - 1);
  for (const auto& [path, bytes] : platter_.files()) {
    if (!path.starts_with(kDirectory + "/")) continue;
    const auto first = journal::parse_segment_name(path.substr(kDirectory.size() + 1));
    if (!first || at < *first || at - *first >= bytes.size()) continue;
    decay_ = Decay{
        .path = path, .offset = at - *first, .mask = static_cast<char>(1 << random_.below(8))};
  }
  if (!decay_) return;
  tell("a bit flips in " + decay_->path);
  platter_.flip(decay_->path, decay_->offset, decay_->mask);
}

/// What the flipped bit means to a start is another question, see `flip_a_bit`.
void World::undo_decay() {
  if (decay_) platter_.flip(decay_->path, decay_->offset, decay_->mask);
  decay_.reset();
}

// ---- beginnings ---------------------------------------------------------------------------------

/// A process that serves, after others that may have failed at it.
void World::come_up() {
  for (;;) {
    recover();
    if (process_) return;
  }
}

void World::recover() {
  static const std::vector<Fault> kFaults = {
      Fault::kPowerCut,    Fault::kKill,     Fault::kFailedRead, Fault::kShortRead,
      Fault::kFailedWrite, Fault::kFullDisk, Fault::kFailedSync,
  };
  note_fault();
  const bool has_lost_power = fault_ == Fault::kPowerCut && disk_.has_struck();
  const bool may_lose_power = sync_mode_ != journal::SyncMode::kOff;
  const bool is_power_cut = has_lost_power || (may_lose_power && random_.one_in(3));
  has_lost_power_ = has_lost_power_ || is_power_cut;
  disk_.revive(is_power_cut);
  fault_.reset();
  if (random_.one_in(4)) {
    fault_ = random_.pick(kFaults);
    if (fault_ == Fault::kPowerCut && !may_lose_power) fault_ = Fault::kKill;
    disk_.plan(*fault_, random_.between(1, 8));
  }
  // A process begins with what the wall clock shows.
  now_ += model_.wall_ahead();
  model_.set_wall_ahead(Duration{});
  now_ += std::chrono::milliseconds(random_.below(5'000));
  if (random_.one_in(8)) {
    ++totals_.clock_jumps;
    now_ += std::chrono::minutes(random_.below(24 * 60));
    now_ -= std::chrono::minutes(random_.below(24 * 60));
  }
  std::optional<journal::SimulatedDisk> copy;
  const bool is_flipping = sync_mode_ != journal::SyncMode::kOff && random_.one_in(3);
  if (is_flipping) {
    copy.emplace();
    for (const auto& [path, bytes] : platter_.files()) copy->set_contents(path, bytes);
  }
  Stream stream;
  if (!try_start(stream)) return;
  disk_.plan_none();
  begin_time(now_, stream);
  check_recovered(stream);
  check_waits();
  set_worker_rules();
  set_limits();
  ++totals_.recoveries;
  if (is_flipping) flip_a_bit(*copy, stream);
}

/// As the server does: from the wall clock, or from the latest time that its log tells.
void World::begin_time(Time wall, const Stream& stream) {
  Time latest = process_->ledger.latest_time();
  if (options_.spreads == Options::Spreads::kBelieved) {
    for (const std::string& batch : stream.batches) {
      latest = std::max(latest, told_by_batch(batch));
    }
  }
  demand(latest <= latest_now_, "the log tells of times to come");
  now_ = std::max(wall, latest);
  latest_now_ = std::max(latest_now_, now_);
  const Duration ahead = wall - now_;
  process_->clock.set(now_);
  process_->broker.set_wall_clock({.ahead = ahead});
  model_.set_wall_ahead(ahead);
}

/// Nothing waits for longer than a client asked for, even if the clock was set back meanwhile.
void World::check_waits() const {
  for (const auto& [id, job] : model_.facts.jobs) {
    const bool is_delayed = job.state == JobState::kScheduled && !job.follows_wall;
    const bool is_held = job.state == JobState::kReserved;
    if (!is_delayed && !is_held) continue;
    Duration longest = std::chrono::seconds(is_delayed ? job.delay_s : job.ttr_s);
    if (job.is_lengthened) longest = kReservedMax;
    demand(job.due <= now_ + longest, "a restart prolongs a delay or a reservation");
  }
  for (const auto& [queue, until] : model_.facts.pauses) {
    demand(until == kNever || until <= now_ + kPauseMax, "a restart prolongs a pause");
  }
}

/// Writes down each batch that is replayed.
class World::NotedReplay final : public PassingJournal {
 public:
  NotedReplay(Journal& journal, Stream& stream) : PassingJournal(journal), stream_(stream) {}

  Outcome<Done> replay(const Visitor& visitor) override {
    return PassingJournal::replay([&](std::string_view batch, Lsn begin) {
      stream_.batches.emplace_back(batch);
      stream_.begins.push_back(begin);
      return visitor(batch, begin);
    });
  }

 private:
  Stream& stream_;
};

/// False: it could not, for a fault that it met.
bool World::try_start(Stream& stream) {
  auto wrapped = options_.wrap_disk ? options_.wrap_disk(disk_) : nullptr;
  journal::FileSystem& files = wrapped ? *wrapped : disk_;
  auto opened = journal::FileJournal::open(files, kDirectory, journal_options());
  std::string refusal;
  if (opened) {
    process_ = std::make_unique<Process>(*this, std::move(wrapped), std::move(*opened));
    NotedReplay noted(process_->recorder, stream);
    const broken::NamelessFormat nameless;
    Store& store = process_->ledger.store();
    if (options_.repeats == Options::Repeats::kSinceItsStart) store.read_names_by(nameless);
    const auto replayed = server::replay(noted, process_->ledger, [](Lsn) { return true; });
    store.read_names_by(format_);
    if (replayed) return true;
    refusal = replayed.error().text;
    process_.reset();
  } else {
    refusal = opened.error().text;
  }
  tell("no start: " + refusal);
  if (!disk_.has_struck()) throw Violation("the start is refused: " + refusal);
  ++totals_.refused_starts;
  return false;
}

void World::advance_shadow() {
  landmarks_.pop_front();
  ++first_point_;
  const Outcome<Done> replayed =
      shadow_->ledger.replay(landmarks_.front().batch, landmarks_.front().begin);
  demand(replayed.has_value(), "a batch cannot be replayed");
}

/// How what was recovered differs from the first state that it can still be.
std::string World::difference() {
  Model model = model_;
  model.facts = landmarks_.front().facts;
  model.restart();
  settle(process_->broker.view(), model.facts);
  try {
    compare(process_->broker, model, now_);
  } catch (const Violation& violation) {
    return violation.what();
  }
  return "nothing that the model knows of";
}

void World::fail_recovery() {
  throw Violation(
      "what was recovered is no state that the server was in since the last reply; "
      "against the last one: " +
      difference());
}

/// What a client was told of is there, and the rest is there up to some batch.
void World::check_recovered(const Stream& stream) {
  std::set<JobId> held;
  const std::string recovered = stored_state(process_->broker, held);
  demand(held.empty(), "a restart brought back a connection's reservation");
  // With `interval`, clients are told of what a power cut may still take.
  const bool is_synced_enough = has_lost_power_ && sync_mode_ == journal::SyncMode::kInterval;
  const std::uint64_t promised = is_synced_enough ? synced_point_ : known_point_;
  while (first_point_ < promised) advance_shadow();
  while (stored_state(shadow_->broker, held) != recovered) {
    if (options_.trace) tell("not batch " + std::to_string(first_point_) + ": " + difference());
    if (landmarks_.size() == 1) fail_recovery();
    advance_shadow();
  }
  model_.facts = landmarks_.front().facts;
  model_.restart();
  const std::uint64_t point = first_point_;
  totals_.batches_lost += landmarks_.size() - 1;
  tell("recovered batch " + std::to_string(point) + " of " + std::to_string(last_point()));
  check_live_is_replayed();
  if (first_point_ != point) {
    shadow_ = std::make_unique<Shadow>(format_);
    for (std::size_t i = 0; i < stream.batches.size(); ++i) {
      (void)shadow_->ledger.replay(stream.batches[i], stream.begins[i]);
    }
  }
  settle(process_->broker.view(), model_.facts);
  compare(process_->broker, model_, now_);
  if (!is_synced_enough) check_handed_out(point);
  totals_.features.finished_recovered += model_.facts.finished.size();
  handed_out_.clear();
  if (point < known_point_) totals_.unsynced_lost += known_point_ - point;
  first_point_ = known_point_ = synced_point_ = point;
  has_lost_power_ = false;
  landmarks_.clear();
  landmarks_.push_back({.batch = {}, .begin = 0, .facts = model_.facts});
  mix(point);
}

/// Where the log has the reservation, the rest of the model says what holds.
void World::check_handed_out(std::uint64_t point) {
  for (const Client::Told& told : handed_out_) {
    if (told.point <= point) continue;
    const HandedOut& job = told.handed_out;
    const auto found = model_.facts.jobs.find(job.id);
    if (options_.trace) {
      tell("job " + std::to_string(job.id) + " was handed out up to batch " +
           std::to_string(told.point) + ", and batch " + std::to_string(point) + " is there");
    }
    demand(found != model_.facts.jobs.end(), "a job that a client was handed is lost");
    // Given back and handed out again to the same worker at the same time, it is as it was.
    if (found->second.client == 0 && found->second.reserved_at == job.at) continue;
    demand(found->second.state != JobState::kReserved,
           "a job that a client was handed is reserved by the worker that had it before");
    demand(found->second.pri == job.pri && found->second.failures == job.failures &&
               (!job.was_ready || found->second.state == JobState::kReady),
           "a job that a client was handed has lost a change from before that");
    ++totals_.handed_out_again;
  }
}

/// Moves the shadow on to what the last process was when it ended.
void World::check_live_is_replayed() {
  if (!live_state_) return;
  while (landmarks_.size() > 1) advance_shadow();
  demand(stored_state(shadow_->broker, live_held_) == *live_state_,
         "replaying the log does not give the state of the process that wrote it");
  live_state_.reset();
}

/// Whoever reads a log with a flipped bit says so, or cuts off a tail that nothing in the log
/// proves to have been durable.
void World::flip_a_bit(journal::SimulatedDisk& disk, const Stream& whole) {
  std::vector<std::string> paths;
  for (const auto& [path, bytes] : disk.files()) {
    if (path.starts_with(kDirectory + "/") && used_bytes(bytes) > 0) paths.push_back(path);
  }
  if (paths.empty()) return;
  const std::string path = random_.pick(paths);
  std::string bytes = disk.contents(path);
  bytes[random_.below(used_bytes(bytes))] ^= static_cast<char>(1 << random_.below(8));
  disk.set_contents(path, bytes);
  ++totals_.flips;
  Stream read;
  auto opened = journal::FileJournal::open(disk, kDirectory, journal_options());
  const bool is_read = opened && (*opened)->replay([&](std::string_view batch, Lsn begin) {
    read.batches.emplace_back(batch);
    read.begins.push_back(begin);
    return Outcome<Done>(Done{});
  });
  if (!is_read) {
    ++totals_.flips_refused;
    return;
  }
  const std::size_t count = read.batches.size();
  demand(count <= whole.batches.size() &&
             std::equal(read.batches.begin(), read.batches.end(), whole.batches.begin()) &&
             std::equal(read.begins.begin(), read.begins.end(), whole.begins.begin()),
         "a flipped bit went unnoticed");
  if (count == whole.batches.size()) return;
  ++totals_.flips_cut;
  Lsn proven = 0;
  for (const Lsn begin : round_begins_) {
    if (begin < whole.begins.back()) proven = std::max(proven, begin);
  }
  demand(whole.begins[count] >= proven, "a flipped bit cut off what was proven to be durable");
}

}  // namespace millrace::simulation
