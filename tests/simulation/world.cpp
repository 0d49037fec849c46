#include "simulation/world.hpp"

#include <algorithm>
#include <iterator>
#include <map>

#include "core/broker/bulk_changes.hpp"
#include "core/model/features/bid.hpp"
#include "simulation/audit/audit.hpp"
#include "simulation/audit/audit_features.hpp"
#include "simulation/process.hpp"
#include "simulation/violation.hpp"

namespace millrace::simulation {
namespace {

constexpr int kNestedMax = 30;

const std::string kWids[] = {"worker-a", "worker-b", "worker-c"};

/// What a server has to do at one time without anybody asking for more is far less.
constexpr std::size_t kTurnsMax = 2000;

/// So many steps there are for each backup.
constexpr std::uint64_t kOneBackupIn = 300;

/// So many steps there are for each directory that is moved away.
constexpr std::uint64_t kOneTakenIn = 2000;

/// By how much a process lives longer in a siege, and there are fewer.
constexpr int kSiegeFactor = 40;

/// By how much segments are longer in a crowded world, as its batches are.
constexpr std::uint64_t kCrowdedFactor = 16;

/// A crowded world takes as long as many others, and a siege as long as a hundred: those are for
/// who asks for them.
Workload::Sizes draw_sizes(Random& random, std::uint64_t seed) {
  if (random.one_in(100)) return Workload::kCrowded;
  // Drawn by itself: worlds without features are those that they were before there were any.
  constexpr std::uint64_t kSeedOfFeatures = 0xfea70;
  return Random(seed ^ kSeedOfFeatures).one_in(2) ? Workload::kFeatures : Workload::Sizes{};
}

Client::Fetches draw_fetches(Random& random) {
  return random.one_in(4) ? Client::Fetches::kStrict : Client::Fetches::kForJob;
}

/// For how long after the ends of their jobs pushes are known.
const std::vector<Duration> kPushMemories = {0s, 2s, 30s, 3600s};

/// Drawn by itself, too: all other worlds are those that they were.
bool keeps_finished(std::uint64_t seed) {
  constexpr std::uint64_t kSeedOfFinished = 0xf1415;
  return Random(seed ^ kSeedOfFinished).one_in(2);
}

ModelLimits draw_limits(Random& random) {
  static const std::vector<Duration> kTimeouts = {5s, 70s, 1000s};
  ModelLimits limits{.concurrency = static_cast<std::uint32_t>(random.below(4)),
                     .worker = static_cast<std::uint32_t>(random.below(3)),
                     .per_key = static_cast<std::uint32_t>(random.below(3)),
                     .timeout = random.pick(kTimeouts)};
  return limits;
}

/// A type has neither a limit for a worker nor one for a key.
ModelLimits draw_type_limits(Random& random) {
  ModelLimits limits = draw_limits(random);
  limits.worker = limits.per_key = 0;
  return limits;
}

LimitsByName draw_all_limits(Random& random) {
  LimitsByName all;
  if (const ModelLimits queue = draw_limits(random); queue.has_any()) all[kThrottledQueue] = queue;
  if (const ModelLimits type = draw_type_limits(random); type.has_any()) all[kLimitedType] = type;
  return all;
}

ThrottleLimits limits_from(const ModelLimits& limits) {
  const auto timeout = std::chrono::duration_cast<std::chrono::seconds>(limits.timeout);
  return {.concurrency = limits.concurrency,
          .worker = limits.worker,
          .timeout_s = static_cast<std::uint32_t>(timeout.count()),
          .per_key = limits.per_key};
}

std::uint64_t draw_segment_bytes(Random& random, const World::Options& options,
                                 const Workload& workload) {
  const std::uint64_t drawn = random.pick(options.segment_bytes);
  if (workload.sizes().segment_bytes != 0) return workload.sizes().segment_bytes;
  return workload.is_crowded() ? drawn * kCrowdedFactor : drawn;
}

}  // namespace

FeatureTotals& FeatureTotals::operator+=(const FeatureTotals& other) {
  worlds += other.worlds;
  not_unique += other.not_unique;
  expired += other.expired;
  tracks += other.tracks;
  batches += other.batches;
  batches_dropped += other.batches_dropped;
  callbacks += other.callbacks;
  limits_by_hand += other.limits_by_hand;
  marks += other.marks;
  views += other.views;
  changes += other.changes;
  tokens += other.tokens;
  jobs_lost += other.jobs_lost;
  slots_reclaimed += other.slots_reclaimed;
  pushes_repeated += other.pushes_repeated;
  finished_recovered += other.finished_recovered;
  return *this;
}

Totals& Totals::operator+=(const Totals& other) {
  worlds += other.worlds;
  operations += other.operations;
  replies += other.replies;
  batches += other.batches;
  disk_changes += other.disk_changes;
  recoveries += other.recoveries;
  jobs_rewritten += other.jobs_rewritten;
  segments_removed += other.segments_removed;
  batches_lost += other.batches_lost;
  for (std::size_t i = 0; i < kFaultCount; ++i) faults[i] += other.faults[i];
  orderly_ends += other.orderly_ends;
  refused_starts += other.refused_starts;
  flips += other.flips;
  flips_refused += other.flips_refused;
  flips_cut += other.flips_cut;
  bodies_read += other.bodies_read;
  bodies_lost += other.bodies_lost;
  settled += other.settled;
  settled_full += other.settled_full;
  emptied_full += other.emptied_full;
  sieges += other.sieges;
  backups += other.backups;
  backups_failed += other.backups_failed;
  taken_away += other.taken_away;
  clock_jumps += other.clock_jumps;
  clock_steps += other.clock_steps;
  spreads += other.spreads;
  moves += other.moves;
  crowds += other.crowds;
  handed_out_again += other.handed_out_again;
  unsynced_lost += other.unsynced_lost;
  features += other.features;
  return *this;
}

World::World(Options options)
    : options_(std::move(options)),
      random_(options_.seed),
      taking_(options_.seed),
      fetches_random_(options_.seed + 0x5eed),
      steps_random_(~options_.seed),
      spreads_random_(options_.seed + 0x5b4ead),
      moves_random_(options_.seed + 0x303e5),
      marks_random_(options_.seed + 0xe7707),
      views_random_(options_.seed + 0x71e35),
      changes_random_(options_.seed + 0xc4a46e),
      tokens_random_(options_.seed + 0x70ce5),
      workload_(random_, options_.sizes ? *options_.sizes : draw_sizes(random_, options_.seed)),
      disk_(platter_, random_),
      conversation_(
          {.random = random_, .workload = workload_, .model = model_, .tell = options_.trace}),
      now_(std::chrono::seconds{1'700'000'000}),
      segment_bytes_(draw_segment_bytes(random_, options_, workload_)),
      memory_bytes_(workload_.sizes().is_siege ? 0 : random_.pick(options_.memory_bytes)),
      sync_mode_(random_.pick(options_.sync_modes)),
      fetches_(options_.fetches ? *options_.fetches : draw_fetches(fetches_random_)),
      shadow_(std::make_unique<Shadow>(format_)) {
  totals_.worlds = 1;
  if (workload_.sizes().has_features) {
    limits_ = draw_all_limits(random_);
    push_memory_ = random_.pick(kPushMemories);
    model_.set_push_memory(push_memory_);
    if (keeps_finished(options_.seed)) {
      finished_ = kFinished;
      model_.set_finished_max(kFinished.jobs_max);
    }
  }
  totals_.features.worlds = workload_.sizes().has_features ? 1 : 0;
  landmarks_.push_back({});
  disk_.on_change = [this] { nest(); };
  disk_.on_full = [this] { leave_copy_of_full_disk(); };
  // The reserve, and some segments more: so it is soon full of what is needed.
  if (workload_.sizes().is_siege) disk_.set_size(random_.between(14, 20) * segment_bytes_ / 2);
  disk_.set_scale(segment_bytes_);
}

World::~World() {
  disk_.on_change = disk_.on_full = {};
  disk_.die();
}

void World::tell(const std::string& text) {
  if (options_.trace) options_.trace(text);
}

void World::mix(std::uint64_t number) {
  fingerprint_ = Random(fingerprint_ ^ number).draw();
}

void World::run() {
  const int lives = workload_.sizes().is_siege ? options_.lives / 10 : options_.lives;
  for (int life = 0; life < lives; ++life) {
    come_up();
    live();
  }
  come_up();
  leave_copy();
  totals_.disk_changes = disk_.change_count();
}

// ---- a life -------------------------------------------------------------------------------------

void World::live() {
  first_client_ = next_client_;
  was_held_ = false;
  was_spare_whole_ = !is_full(process_->recorder);
  model_.settle_times = [this] { settle(process_->broker.view(), model_.facts); };
  model_.callback_job = [this](const std::string& bid, const std::string& role) {
    return callback_job(bid, role);
  };
  model_.has_batch = [this](const std::string& bid) {
    return process_->broker.view().batches().find(*parse_bid(bid)) != nullptr;
  };
  model_.send_away = [this](Time now) { send_away(now); };
  model_.has_moved = [this](JobId id, const ModelJob& job) {
    return has_moved(process_->broker.view(), id, job, first_client_);
  };
  // What has come due while nobody was there is done before the first client comes.
  process_->turn.request();
  poll();
  note_fault();
  plan_fault();
  const int factor = workload_.sizes().is_siege ? kSiegeFactor : random_.one_in(20) ? 10 : 1;
  const int longest = options_.steps_per_life * factor;
  const std::uint64_t steps = random_.between(1, static_cast<std::uint64_t>(longest));
  for (std::uint64_t i = 0; i < steps && !disk_.is_dead(); ++i) step();
  const bool is_orderly = !disk_.is_dead() && random_.one_in(10);
  come_to_rest();
  is_resting_ = false;
  // It outlives a server that was killed, but not a power cut.
  if (platter_.is_powered()) advance_backup(UINT64_MAX);
  backup_.reset();
  if (is_orderly && !disk_.is_dead()) let_read([&] { end_orderly(); });
  note_synced();
  check_taken();
  taken_at_.reset();
  tell(disk_.is_dead() ? "crash" : "end");
  const Broker& broker = process_->broker;
  live_held_.clear();
  live_state_.reset();
  undo_decay();
  if (!std::exchange(is_body_lost_, false)) {
    compare_all();
    disk_.set_watched(true);
    if (!disk_.is_dead()) compare_bodies();
    if (!process_->ledger.has_batch() && (!disk_.is_dead() || memory_bytes_ == 0)) {
      live_state_ = stored_state(broker, live_held_);
    }
    disk_.set_watched(false);
  }
  if (!is_orderly) disk_.die();
  totals_.jobs_rewritten += broker.ledger().store().jobs().rewritten_count();
  totals_.segments_removed += process_->main.compactor.removed_segments();
  count_features();
  process_.reset();
}

void World::step() {
  if (disk_.strikes(Fault::kDecay)) decay();
  // Not in a siege, which is about one disk for long.
  const bool may_be_taken = !taken_at_ && !workload_.sizes().is_siege;
  if (may_be_taken && taking_.one_in(kOneTakenIn)) take_away();
  const bool is_acting = random_.below(100) < 75;
  let_read([&] { is_acting ? act() : write(); });
  if (disk_.is_dead()) return;
  const bool has_backups = !workload_.sizes().is_siege;  // they would take the room
  if (has_backups && !backup_ && !decay_ && !disk_.is_full() && random_.one_in(kOneBackupIn))
    begin_backup();
  advance_backup(random_.below(3));
  if (options_.meddle) options_.meddle(process_->ledger, random_);
}

/// Anything but the disk.
void World::act() {
  const std::uint64_t kind = random_.below(100);
  const bool has_limits = workload_.sizes().has_features && !process_->turn.is_paused();
  if (has_limits && random_.one_in(200)) set_limits_by_hand();
  // A siege is about what clients do to a disk.
  if (!workload_.sizes().is_siege && marks_random_.one_in(60)) mark_error();
  if (!workload_.sizes().is_siege && views_random_.one_in(60)) save_view();
  if (!workload_.sizes().is_siege && changes_random_.one_in(60)) note_change();
  if (!workload_.sizes().is_siege && tokens_random_.one_in(60)) change_token();
  if (!workload_.sizes().is_siege && spreads_random_.one_in(60)) spread_retries();
  if (workload_.moves_jobs() && moves_random_.one_in(40)) move_jobs();
  if (kind < 70) {
    client_step();
  } else if (kind < 93) {
    poll();
  } else {
    advance();
  }
}

/// While the disk works on something, the rest of the process continues.
void World::nest() {
  if (!is_writing_ || is_resting_ || trouble_ || random_.below(3) != 0) return;
  // What is said while the disk writes is written next: more than is written would snowball.
  if (++nested_ > kNestedMax) return;
  try {
    for (std::uint64_t i = random_.between(1, 3); i > 0; --i) act();
    advance_backup(random_.one_in(8) ? UINT64_MAX : random_.below(3));
  } catch (const std::runtime_error&) {
    trouble_ = std::current_exception();
    disk_.die();
  }
}

/// A violation must not leave the journal in the middle of a round.
void World::leave_copy_of_full_disk() {
  try {
    leave_copy();
  } catch (const Violation&) {
    if (!is_writing_) throw;
    if (!trouble_) trouble_ = std::current_exception();
    disk_.die();
  }
}

/// Does what may need bodies from the log.
void World::let_read(const std::function<void()>& act) {
  try {
    act();
  } catch (const Violation&) {
    throw;
  } catch (const std::runtime_error& problem) {
    body_is_lost(problem.what());
  }
}

/// A body cannot be read back. Here the process ends, which has said nothing that is not so.
/// `replay_test` has what it does instead.
void World::body_is_lost(const std::string& problem) {
  if (!disk_.has_struck() && !disk_.is_dead()) throw Violation("a body is lost: " + problem);
  tell("the process ends: " + problem);
  if (!disk_.is_dead()) ++totals_.bodies_lost;
  is_body_lost_ = true;
  disk_.die();
}

void World::write() {
  if (disk_.is_full() && full_steps_ != 0 && random_.one_in(full_steps_)) disk_.make_room();
  write_as_it_is();
}

void World::write_as_it_is() {
  is_writing_ = true;
  nested_ = 0;
  using Interval = journal::FileJournal::Interval;
  round_begins_.push_back(process_->journal->synced());
  const bool is_over = sync_mode_ == journal::SyncMode::kInterval && random_.one_in(4);
  const bool is_done = process_->journal->step(is_over ? Interval::kIsOver : Interval::kGoesOn);
  is_writing_ = false;
  check_taken();
  note_synced();
  if (trouble_) std::rethrow_exception(std::exchange(trouble_, nullptr));
  tell(is_done ? "the disk has worked" : "the disk has nothing to do, or failed");
}

/// The journal knows the positions, we know the batches.
void World::note_synced() {
  const Lsn synced = process_->journal->synced();
  while (synced_point_ < last_point()) {
    const Landmark& next = landmarks_[synced_point_ + 1 - first_point_];
    if (next.begin + next.batch.size() > synced) return;
    ++synced_point_;
  }
}

void World::advance() {
  // What fails meanwhile would have no place that is known, and what is due no time.
  if (model_.is_working() || process_->turn.is_paused()) return;
  // When a batch has finished is what the next turn says.
  const bool waits_for_turn = process_->ledger.store().batches().has_work() && !was_held_;
  if (waits_for_turn && process_->broker.admission() == Admission::kEverything) return;
  using std::chrono::milliseconds;
  const std::uint64_t kind = random_.below(100);
  std::uint64_t bound_ms = 50;
  if (kind >= 60) bound_ms = 3'000;
  if (kind >= 85) bound_ms = 90'000;
  if (kind >= 95) bound_ms = 3 * 3'600'000;
  if (kind >= 99) bound_ms = 10ull * 24 * 3'600'000;
  const milliseconds by(random_.below(bound_ms));
  if (by >= milliseconds(60'000)) ++totals_.clock_jumps;
  const Time before = now_;
  now_ = std::max(now_, std::min(now_ + by, model_.second_pause_end() - Duration{1}));
  latest_now_ = std::max(latest_now_, now_);
  process_->clock.set(process_->clock.now() + (now_ - before));
  process_->turn.request();
  if (options_.trace) tell("the clock moves by " + std::to_string(by.count()) + " ms");
  if (steps_random_.one_in(6)) step_wall_clock();
}

void World::set_worker_rules() {
  process_->broker.admin().set_worker_rules(options_.workers, now_);
  model_.set_worker_rules(now_);
}

/// As the configuration tells a process when it begins.
void World::set_limits() {
  if (limits_.empty()) return;
  ThrottleRules rules;
  for (const auto& [name, limits] : limits_) {
    rules.list.push_back({.pattern = name, .limits = limits_from(limits)});
  }
  rules.find = [list = rules.list](std::string_view name) {
    const auto found = std::find_if(list.begin(), list.end(),
                                    [&](const ThrottleRule& rule) { return rule.pattern == name; });
    return found == list.end() ? nullptr : &*found;
  };
  rules.has_types = limits_.contains(kLimitedType);
  if (rules.has_types) rules.types = {kLimitedType};
  process_->broker.admin().set_throttle_rules(std::move(rules), now_);
  model_.set_limits(limits_, now_);
}

void World::set_limits_by_hand() {
  const bool is_of_type = steps_random_.one_in(2);
  const std::string& name = is_of_type ? kLimitedType : kThrottledQueue;
  ModelLimits limits = is_of_type ? draw_type_limits(random_) : draw_limits(random_);
  const auto before = limits_.find(name);
  if (before == limits_.end() || !limits.has_any()) return;
  if (steps_random_.one_in(2)) limits.timeout = before->second.timeout;
  // All reservations are counted, where the timeout is another one or it is a type: that takes
  // slices. Until then nothing is handed out, and what is due now could come first.
  poll();
  if (disk_.is_dead() || process_->turn.is_paused()) return;
  Broker& broker = process_->broker;
  const bool is_set =
      static_cast<bool>(broker.admin().set_throttle(name, limits_from(limits), now_));
  demand(is_set == model_.set_limits_by_hand(name, limits, now_),
         "limits by hand are refused, or not");
  process_->turn.request();
  ++totals_.features.limits_by_hand;
  tell("an operator sets limits of " + name);
  poll();
}

/// Of one of a few errors, whether it has occurred or not.
void World::mark_error() {
  if (process_->turn.is_paused()) return;
  const std::uint64_t error = marks_random_.between(1, 4);
  ModelMark mark;
  if (marks_random_.one_in(2)) mark.note = std::string(marks_random_.below(40), 'n');
  if (!mark.note.empty()) mark.noted_at = now_;
  // Some are over already.
  if (marks_random_.one_in(3)) mark.muted_until = now_ + marks_random_.below(3) * 50s;
  if (marks_random_.one_in(3)) mark.muted_below = marks_random_.below(300);
  ErrorMark asked{.muted_until = mark.muted_until,
                  .muted_below = mark.muted_below,
                  .note = mark.note,
                  .noted_at = mark.noted_at};
  const bool is_set =
      static_cast<bool>(process_->broker.admin().mark_error(error, std::move(asked), now_));
  demand(is_set == model_.mark_error(error, mark, now_), "a mark of an error is refused, or not");
  process_->turn.request();
  ++totals_.features.marks;
  tell("an operator marks error " + std::to_string(error));
}

/// One of a few, or it is removed, whether it is there or not.
void World::save_view() {
  if (process_->turn.is_paused()) return;
  const std::string name = "view-" + std::to_string(views_random_.between(1, 4));
  const std::string query(views_random_.one_in(4) ? 0 : views_random_.between(1, 60), 'q');
  const bool is_saved = static_cast<bool>(process_->broker.admin().save_view(name, query));
  demand(is_saved == model_.save_view(name, query), "a view is refused, or not");
  process_->turn.request();
  ++totals_.features.views;
  tell("an operator saves " + name);
}

/// A person changes something, or it turns out how many jobs one has changed.
void World::note_change() {
  // One for each write of the disk would bring further writes without end.
  if (is_writing_ || process_->turn.is_paused()) return;
  Activity& activity = process_->broker.activity();
  std::map<std::uint64_t, ModelChange>& changes = model_.facts.changes;
  // The model is copied with each record: a few changes will do.
  if (changes.size() >= kModelChangesMax || (!changes.empty() && changes_random_.one_in(3))) {
    const auto change = std::next(
        changes.begin(), static_cast<std::ptrdiff_t>(changes_random_.below(changes.size())));
    change->second.jobs = changes_random_.below(300);
    activity.finish(change->first, *change->second.jobs);
    tell("change " + std::to_string(change->first) + " is counted");
  } else {
    const std::string action = "action-" + std::to_string(changes_random_.below(1000));
    const std::uint64_t number = activity.note({.at = now_,
                                                .protocol = kPerson,
                                                .client = {},
                                                .action = action,
                                                .target = {},
                                                .details = {}});
    changes[number].action = action;
    tell("change " + std::to_string(number) + " is noted");
  }
  process_->turn.request();
  ++totals_.features.changes;
}

/// A user makes or revokes one of a few tokens, whether it is there or not.
void World::change_token() {
  if (process_->turn.is_paused()) return;
  AdminOperations& admin = process_->broker.admin();
  const std::string name(1, static_cast<char>('a' + tokens_random_.below(4)));
  const std::string hash(kTokenHashBytes, name.front());
  if (tokens_random_.one_in(3)) {
    demand(static_cast<bool>(admin.remove_token(hash)) == (model_.facts.tokens.erase(name) > 0),
           "a token is revoked, or not");
    tell("a user revokes token " + name);
  } else {
    const Time expires_at =
        process_->broker.view().wall_clock().shown(now_) + (1 + tokens_random_.below(20)) * 10s;
    Token token{.hash = hash, .name = name, .user = "ana", .expires_at = expires_at};
    demand(static_cast<bool>(admin.add_token(std::move(token), now_)) ==
               model_.add_token(name, expires_at, now_),
           "a token is made, or not");
    tell("a user makes token " + name);
  }
  process_->turn.request();
  ++totals_.features.tokens;
}

/// An administrator retries all jobs that have failed. They come back over some time.
void World::spread_retries() {
  static const std::vector<Duration> kWithin = {1s, 100s, 12 * 3600s, 86'400s};
  if (process_->turn.is_paused() || model_.is_working()) return;
  const JobState set = spreads_random_.one_in(3) ? JobState::kRetrying : JobState::kDead;
  const Duration within = spreads_random_.pick(kWithin);
  tell("an administrator spreads the retries of all " +
       std::string(set == JobState::kDead ? "dead" : "retrying") + " jobs");
  std::map<JobId, std::uint32_t> former;
  for (const JobId id : model_.in_order(set, "")) {
    former[id] = process_->broker.view().jobs().find(id)->delay_s;
  }
  BulkChanges changes(process_->broker);
  demand(
      changes.start({.states = {set}, .action = Mutation::Action::kRequeue, .spread = within}, now_)
          .has_value(),
      "an operation on all jobs is refused");
  while (changes.work(now_)) {
  }
  model_.spread_retries(set, within, now_);
  totals_.spreads += former.empty() ? 0 : 1;
  if (options_.spreads != Options::Spreads::kRight) forget_delays(former);
  process_->turn.request();
  observe();
}

/// An administrator moves some jobs, in whatever state they are, to another queue.
void World::move_jobs() {
  if (process_->turn.is_paused() || model_.is_working()) return;
  std::vector<JobId> ids;
  for (const auto& [id, job] : model_.facts.jobs) {
    if (Workload::may_move(job) && moves_random_.one_in(4)) ids.push_back(id);
  }
  const std::string& to = moves_random_.pick(kQueues);
  for (const JobId id : ids) {
    tell("an administrator moves job " + std::to_string(id) + " to " + to);
    AdminOperations& admin = process_->broker.admin();
    const bool is_moved = admin.change(id, Mutation::Action::kMove, now_, to).has_value();
    demand(is_moved == model_.move(id, to, now_), "a move is refused, or not");
    totals_.moves += is_moved ? 1 : 0;
    observe();
  }
  process_->turn.request();
}

/// As older versions left them.
void World::forget_delays(const std::map<JobId, std::uint32_t>& former) {
  for (const auto& [id, delay_s] : former) {
    const Job* const job = process_->broker.view().jobs().find(id);
    if (job == nullptr || job->state != JobState::kScheduled) continue;
    JobChanged record{.id = id, .fields = job->fields()};
    record.fields.delay_s = delay_s;
    process_->ledger.commit(std::move(record));
  }
}

/// No record tells a later time than the one it is made at.
void World::check_times(std::string_view batch) const {
  const bool is_told = options_.spreads < Options::Spreads::kInOlderLogs;
  demand(!is_told || told_by_batch(batch) <= now_, "a record tells of a time to come");
}

/// No longer than what jobs are scheduled for, or by hours.
void World::step_wall_clock() {
  using std::chrono::milliseconds;
  const std::uint64_t bound_ms = steps_random_.one_in(3) ? 5 * 3'600'000 : 6'000;
  const milliseconds size(steps_random_.below(bound_ms));
  const Duration step = steps_random_.one_in(2) ? size : -size;
  ++totals_.clock_steps;
  model_.set_wall_ahead(model_.wall_ahead() + step);
  if (options_.steps == Options::Steps::kByDelaysToo && step > Duration{}) {
    process_->clock.set(process_->clock.now() + step);
  } else if (options_.steps != Options::Steps::kUnnoticed) {
    Broker& broker = process_->broker;
    broker.set_wall_clock({.ahead = broker.view().wall_clock().ahead + step});
  }
  if (options_.trace) tell("the wall clock is set by " + std::to_string(step / 1ms) + " ms");
}

/// Where the server thinks that the log holds a body, it does, however it was moved about.
void World::compare_bodies() {
  const View& view = process_->broker.view();
  for (const auto& [id, expected] : model_.facts.jobs) {
    const Job& job = *view.jobs().find(id);
    if (!job.log.place.is_in_log()) continue;
    // The recorder itself ends the process where a body cannot be read.
    const auto body = process_->recorder.PassingJournal::read(job.body_at(), job.body_bytes);
    demand(body.has_value(), "a body cannot be read from the log");
    demand(*body == job.body_view(), "the log holds another body");
  }
}

// ---- the server's turns -------------------------------------------------------------------------

void World::poll() {
  do {
    for (std::size_t turns = 0; process_->turn.has_work(); ++turns) {
      demand(turns < kTurnsMax, "the server does not come to rest");
      process_->turn.run();
    }
  } while (disconnect_who_is_done());
  const bool may_all_move = !was_held_ && !process_->turn.is_paused() && !is_writing_;
  demand(!may_all_move || !model_.is_overdue(now_), "something is due and does not happen");
  // It brings all bodies back into memory.
  if (random_.one_in(memory_bytes_ == 0 ? 4 : 40)) compare_all();
}

/// What they held may take turns to be released.
bool World::disconnect_who_is_done() {
  bool has_gone = false;
  for (std::size_t slot = 0; slot < kClientSlots; ++slot) {
    Client* const client = process_->clients[slot].get();
    if (client == nullptr || !client->session().wants_close()) continue;
    if (!client->has_heard_all()) continue;
    disconnect(slot);
    has_gone = true;
  }
  return has_gone;
}

void World::compare_all() {
  // What was not read by then cannot be any more.
  if (disk_.is_dead() && memory_bytes_ != 0) return;
  disk_.set_watched(true);
  compare(process_->broker, model_, now_);
  disk_.set_watched(false);
}

/// What the server may take on in a turn, the model may.
server::Compactor::Limits World::limit(server::Compactor::Limits asked) {
  demand(!is_full(process_->recorder) || disk_.was_full(), "a disk with room is taken for full");
  model_.set_admission(asked.admission);
  asked.is_compacting_only = asked.is_compacting_only && !options_.lets_all_write;
  was_held_ = asked.is_compacting_only;
  return asked;
}

/// The server has done what was due.
void World::work(Time now) {
  if (!was_held_) model_.tick(now);
  send_away(now);
  observe();
  count_crowds();
}

JobId World::callback_job(const std::string& bid, const std::string& role) const {
  const auto id = parse_bid(bid);
  const JobBatch* const batch = id ? process_->broker.view().batches().find(*id) : nullptr;
  return batch == nullptr ? 0 : batch->fields.callback_job(role_named(role));
}

/// A client that says nothing any more does not learn that its worker was sent away. Its jobs do.
void World::send_away(Time now) {
  for (const std::unique_ptr<Client>& client : process_->clients) {
    if (client) conversation_.check_eviction(*client, now);
  }
  const Workers& workers = process_->broker.view().workers();
  for (const std::string& wid : kWids) {
    if (workers.contains(wid)) continue;
    demand(model_.forget_worker(wid, now), "a worker that is alive was forgotten");
  }
}

void World::count_features() {
  const Tally& tally = process_->broker.view().tally();
  totals_.features.expired += tally.jobs_expired;
  totals_.features.jobs_lost += tally.jobs_lost;
  totals_.features.batches += tally.batches_added;
  totals_.features.batches_dropped += tally.batches_dropped;
  totals_.features.callbacks += tally.batch_callbacks;
  totals_.features.pushes_repeated += process_->broker.view().tally().pushes_repeated;
  for (const std::string& name : {kThrottledQueue, kLimitedType}) {
    const Throttle* const throttle = process_->ledger.store().throttles().table().find(name);
    if (throttle != nullptr) totals_.features.slots_reclaimed += throttle->reclaimed;
  }
}

void World::count_reply(const std::string& reply) {
  if (reply.find("NOTUNIQUE") != std::string::npos) ++totals_.features.not_unique;
  if (reply.find(R"("updated_at":")") != std::string::npos) ++totals_.features.tracks;
}

void World::count_crowds() {
  constexpr std::size_t kMany = 512;  // see core/slab.hpp
  constexpr std::size_t kFew = 100;
  const std::size_t jobs = model_.facts.jobs.size();
  if (jobs > kMany) is_crowded_ = true;
  if (jobs < kFew && std::exchange(is_crowded_, false)) ++totals_.crowds;
}

/// Everything that sessions have said since the last call must be what the model foretold.
void World::observe() {
  settle(process_->broker.view(), model_.facts);
  const std::string undue = model_.undue_callback();
  if (!undue.empty()) throw Violation("a callback is pushed that is not due: " + undue);
  for (const std::unique_ptr<Client>& client : process_->clients) {
    if (client) observe(*client);
  }
}

void World::observe(Client& client) {
  const std::uint64_t point = last_point() + (process_->ledger.has_batch() ? 1 : 0);
  conversation_.check_replies(client, point, [this](const std::string& reply) {
    if (workload_.sizes().has_features) count_reply(reply);
    for (const char byte : reply) {
      fingerprint_ = fingerprint_ * 31 + static_cast<unsigned char>(byte);
    }
  });
}

// ---- clients ------------------------------------------------------------------------------------

void World::client_step() {
  const std::size_t slot = random_.below(kClientSlots);
  Client* const client = process_->clients[slot].get();
  if (client == nullptr) return connect(slot, !random_.one_in(workload_.sizes().is_siege ? 4 : 2));
  if (process_->turn.is_paused()) return;
  const std::uint64_t kind = random_.below(100);
  if (kind < 3) return disconnect(slot);
  if (kind < 6) return client->set_reading(!client->is_reading(), process_->recorder.durable());
  if (client->is_silent()) return;
  if (kind < 8) return half_close(*client);
  // It says the next thing before it has heard the answer to the last, but not while that is being
  // waited for: the session would only keep it.
  if (!model_.is_waiting(client->number())) converse(*client);
}

void World::connect(std::size_t slot, bool is_worker) {
  const ClientNumber number = next_client_++;
  const std::string wid = is_worker ? kWids[random_.below(std::size(kWids))] : "";
  Process& process = *process_;
  std::unique_ptr<Session> session =
      is_worker ? process.faktory.open() : process.beanstalk.open(access::Caller::everybody());
  process.clients[slot] = std::make_unique<Client>(
      number, wid, std::move(session),
      Client::Events{.on_session_called = [this] { observe(); },
                     .finish_background = [this] { return process_->background.finish_one(); },
                     .on_received = [this](const Client::Told& told) { note_told(told); }});
  Client& client = *process.clients[slot];
  client.set_fetches(fetches_);
  conversation_.begin(client, now_);
  process.turn.join(client.session(), client);
  process.turn.enlist(client);
}

void World::resume_clients() {
  if (process_->turn.is_paused()) return;
  for (const std::unique_ptr<Client>& client : process_->clients) {
    if (client && client->resume(now_)) process_->turn.enlist(*client);
  }
}

void World::let_go(Lsn durable) {
  for (const std::unique_ptr<Client>& client : process_->clients) {
    if (client) client->let_go(durable);
  }
}

void World::note_told(const Client::Told& told) {
  ++totals_.replies;
  if (told.is_all) {
    known_point_ = std::max(known_point_, told.point);
  } else if (told.handed_out.id != 0) {
    handed_out_.push_back(told);
  }
}

void World::half_close(Client& client) {
  if (options_.trace) tell("client " + std::to_string(client.number()) + " closes its side");
  client.fall_silent();
  model_.end_input(client.number());
  client.session().end_of_input(now_);
  observe();
  process_->turn.enlist(client);
}

void World::disconnect(std::size_t slot) {
  const std::unique_ptr<Client> client = std::move(process_->clients[slot]);
  process_->turn.leave(client->session(), *client);
  conversation_.end(*client, now_);
  process_->turn.request();
  observe();
}

/// Says one thing, or several without awaiting the replies, no more than the session executes at
/// once.
void World::converse(Client& client) {
  constexpr std::size_t kBatchBytesMost = kBatchBytesPause / 4;
  if (process_->ledger.batch_bytes() > kBatchBytesMost) return poll();
  const std::vector<Command> said = conversation_.draw(client, now_);
  totals_.operations += said.size();
  if (!said.empty()) say(client, said);
}

/// The model executes it after the server, which decides how far a long operation gets.
void World::say(Client& client, const std::vector<Command>& commands) {
  std::string text;
  for (const Command& command : commands) text += render(command);
  const std::size_t cut = random_.one_in(4) ? random_.below(text.size()) : 0;
  if (cut > 0) client.receive(text.substr(0, cut), now_);
  client.receive(text.substr(cut), now_);
  for (const Command& command : commands) model_.execute(client.number(), command, now_);
  observe();
  process_->turn.enlist(client);
  process_->turn.answer_early(client);
}

/// As the server ends when it is asked to.
void World::end_orderly() {
  for (std::size_t slot = 0; slot < kClientSlots; ++slot) {
    if (process_->clients[slot]) disconnect(slot);
  }
  process_->turn.request();
  process_->turn.run();
  process_->recorder.sync();
  if (disk_.is_dead() || process_->journal->pending_bytes() > 0) return;
  ++totals_.orderly_ends;
  known_point_ = last_point();
}

}  // namespace millrace::simulation
