#include "simulation/world.hpp"

#include <algorithm>

#include "simulation/process.hpp"
#include "simulation/violation.hpp"

namespace millrace::simulation {
namespace {

const std::string kWids[] = {"worker-a", "worker-b", "worker-c"};

/// What a server has to do at one time without anybody asking for more is far less.
constexpr std::size_t kHandlersMax = 2000;

/// So many steps there are for each backup.
constexpr std::uint64_t kOneBackupIn = 500;

/// A segment from which on the spare holds some batches of the largest.
constexpr std::uint64_t kRoomySegmentBytes = 4096;
constexpr std::uint64_t kCrowdedRoomySegmentBytes = 256 * 1024;

/// By how much segments are longer in a crowded world, as its batches are.
constexpr std::uint64_t kCrowdedFactor = 16;

bool matches(const std::string& reply, const Expected& expected) {
  if (expected.parts.size() == 1) return reply == expected.parts.front();
  if (!reply.starts_with(expected.parts.front())) return false;
  std::size_t at = 0;
  for (const std::string& part : expected.parts) {
    at = reply.find(part, at);
    if (at == std::string::npos) return false;
    at += part.size();
  }
  return true;
}

std::string text_of(const Expected& expected) {
  std::string text;
  for (const std::string& part : expected.parts) text += (text.empty() ? "" : " ... ") + part;
  return text;
}

/// A crowded world takes as long as many others.
Workload::Sizes draw_sizes(Random& random) {
  constexpr std::uint64_t kOneCrowdedIn = 100;
  return random.one_in(kOneCrowdedIn) ? Workload::kCrowded : Workload::Sizes{};
}

}  // namespace

Totals& Totals::operator+=(const Totals& other) {
  worlds += other.worlds;
  operations += other.operations;
  replies += other.replies;
  batches += other.batches;
  disk_changes += other.disk_changes;
  recoveries += other.recoveries;
  jobs_rewritten += other.jobs_rewritten;
  pieces_freed += other.pieces_freed;
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
  backups += other.backups;
  backups_failed += other.backups_failed;
  clock_jumps += other.clock_jumps;
  crowds += other.crowds;
  unsynced_lost += other.unsynced_lost;
  return *this;
}

World::World(Options options)
    : options_(std::move(options)),
      random_(options_.seed),
      workload_(random_, options_.sizes ? *options_.sizes : draw_sizes(random_)),
      disk_(platter_, random_),
      now_(std::chrono::seconds{1'700'000'000}),
      segment_bytes_(random_.pick(options_.segment_bytes) *
                     (workload_.is_crowded() ? kCrowdedFactor : 1)),
      memory_bytes_(random_.pick(options_.memory_bytes)),
      sync_mode_(random_.pick(options_.sync_modes)),
      shadow_(std::make_unique<Broker>(format_, Broker::Options{})) {
  totals_.worlds = 1;
  landmarks_.push_back({});
  disk_.on_change = [this] { nest(); };
}

World::~World() {
  disk_.on_change = {};
  disk_.die();
}

void World::tell(const std::string& text) {
  if (options_.trace) options_.trace(text);
}

void World::mix(std::uint64_t number) {
  fingerprint_ = Random(fingerprint_ ^ number).draw();
}

void World::run() {
  for (int life = 0; life < options_.lives; ++life) {
    come_up();
    live();
  }
  come_up();
  totals_.disk_changes = disk_.change_count();
}

// ---- a life -------------------------------------------------------------------------------------

void World::live() {
  // What has come due while nobody was there is done before the first client comes.
  process_->commits.schedule();
  poll();
  note_fault();
  plan_fault();
  const int longest = options_.steps_per_life * (random_.one_in(20) ? 10 : 1);
  const std::uint64_t steps = random_.between(1, static_cast<std::uint64_t>(longest));
  for (std::uint64_t i = 0; i < steps && !disk_.is_dead(); ++i) step();
  const bool is_orderly = !disk_.is_dead() && random_.one_in(10);
  if (!disk_.is_dead()) settle_log();
  if (is_orderly && !disk_.is_dead()) let_read([&] { end_orderly(); });
  note_synced();
  tell(disk_.is_dead() ? "crash" : "end");
  const Broker& broker = process_->broker;
  live_held_.clear();
  live_state_.reset();
  undo_decay();
  if (!std::exchange(is_body_lost_, false)) {
    compare_all();
    disk_.set_watched(true);
    if (!disk_.is_dead()) compare_bodies();
    if (!broker.has_batch() && (!disk_.is_dead() || memory_bytes_ == 0)) {
      live_state_ = stored_state(broker.view(), live_held_);
    }
    disk_.set_watched(false);
  }
  if (!is_orderly) disk_.die();
  totals_.jobs_rewritten += broker.view().tally().jobs_rewritten;
  totals_.pieces_freed += process_->cleaner.freed_pieces();
  process_.reset();
}

void World::step() {
  if (disk_.strikes(Fault::kDecay)) decay();
  const bool is_acting = random_.below(100) < 75;
  let_read([&] { is_acting ? act() : write(); });
  if (random_.one_in(kOneBackupIn) && !disk_.is_dead() && !decay_) back_up();
  if (options_.meddle) options_.meddle(process_->broker, random_);
}

/// Anything but the disk.
void World::act() {
  const std::uint64_t kind = random_.below(100);
  if (kind < 70) {
    client_step();
  } else if (kind < 93) {
    poll();
  } else {
    advance();
  }
}

/// While the disk works on something, the rest of the process goes on.
void World::nest() {
  if (!is_writing_ || trouble_ || random_.below(3) != 0) return;
  try {
    for (std::uint64_t i = random_.between(1, 3); i > 0; --i) act();
  } catch (const std::runtime_error&) {
    trouble_ = std::current_exception();
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

/// A body cannot be read back. The server ends the connection that asked for it, or itself when
/// nobody did; here it always ends. Before that it has said nothing that is not so.
void World::body_is_lost(const std::string& problem) {
  if (!disk_.has_struck() && !disk_.is_dead()) throw Violation("a body is lost: " + problem);
  tell("the process ends: " + problem);
  if (!disk_.is_dead()) ++totals_.bodies_lost;
  is_body_lost_ = true;
  disk_.die();
}

/// Lets cleaning come to rest: then the log is no longer than is promised, and on a full disk
/// nothing waits for room.
void World::settle_log() {
  // A piece goes when what replaces it is durable, so the disk and the turns take theirs in turn.
  Journal::Extent log;
  Journal::Extent before{.begin = 1};
  constexpr int kRoundsMax = 1000;
  for (int i = 0; before.begin != log.begin || before.end != log.end; ++i) {
    demand(i < kRoundsMax, "cleaning does not come to rest");
    before = process_->recorder.extent();
    // Twice: what became durable in one of them is known in the next.
    for (int half = 0; half < 2; ++half) {
      let_read([&] {
        process_->commits.schedule();
        poll();
      });
      if (!disk_.is_dead()) let_read([&] { write_as_it_is(); });
      if (disk_.is_dead()) return;
    }
    log = process_->recorder.extent();
  }
  if (disk_.is_full() || process_->recorder.is_full()) {
    // The spare is for who had it, and for pieces that hold some batches of the largest.
    const std::uint64_t roomy =
        workload_.is_crowded() ? kCrowdedRoomySegmentBytes : kRoomySegmentBytes;
    const bool is_spared = disk_.spare_when_filled() != 0 && segment_bytes_ >= roomy;
    demand(!is_spared || process_->journal->durable() == log.end,
           "a full disk does not take what was accepted");
    totals_.settled_full += is_spared ? 1 : 0;
    return;
  }
  // The segment that is written to stays, and is as long as a batch when that is longer.
  const std::uint64_t newest = std::max(segment_bytes_, log.end - log.newest_begin);
  demand(log.end - log.begin <= 2 * process_->broker.live_bytes() + 3 * segment_bytes_ + newest,
         "the log is longer than twice what is needed, and four segments");
  ++totals_.settled;
}

void World::write() {
  if (disk_.is_full() && random_.one_in(10)) disk_.make_room();
  write_as_it_is();
}

void World::write_as_it_is() {
  is_writing_ = true;
  using Interval = journal::FileJournal::Interval;
  round_begins_.push_back(process_->journal->synced());
  const bool is_over = sync_mode_ == journal::SyncMode::kInterval && random_.one_in(4);
  const bool is_done = process_->journal->step(is_over ? Interval::kIsOver : Interval::kGoesOn);
  is_writing_ = false;
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
  using std::chrono::milliseconds;
  const std::uint64_t kind = random_.below(100);
  std::uint64_t bound_ms = 50;
  if (kind >= 60) bound_ms = 3'000;
  if (kind >= 85) bound_ms = 90'000;
  if (kind >= 95) bound_ms = 3 * 3'600'000;
  if (kind >= 99) bound_ms = 10ull * 24 * 3'600'000;
  const milliseconds by(random_.below(bound_ms));
  if (by >= milliseconds(60'000)) ++totals_.clock_jumps;
  now_ = std::max(now_, std::min(now_ + by, model_.second_pause_end() - Duration{1}));
  process_->clock.set(now_);
  process_->commits.schedule();
  if (options_.trace) tell("the clock moves by " + std::to_string(by.count()) + " ms");
}

/// Where the server thinks that the log holds a body, it does, however it was moved about.
void World::compare_bodies() {
  const View& view = process_->broker.view();
  for (const auto& [id, expected] : model_.facts.jobs) {
    const Job& job = *view.find(id);
    if (!job.is_placed) continue;
    const auto body = process_->recorder.read(job.body_at, job.body_bytes);
    demand(body.has_value(), "a body cannot be read from the log");
    demand(*body == job.body_view(), "the log holds another body");
  }
}

// ---- the server's turns -------------------------------------------------------------------------

void World::poll() {
  process_->loop.restart();
  for (std::size_t handled = 0; process_->loop.poll_one() > 0; ++handled) {
    demand(handled < kHandlersMax, "the server does not come to rest");
  }
  for (std::size_t slot = 0; slot < kClientSlots; ++slot) {
    Client* const client = process_->clients[slot].get();
    if (client == nullptr || !client->session().wants_close()) continue;
    if (client->has_heard_all()) disconnect(slot);
  }
  // It brings all bodies back into memory.
  if (random_.one_in(memory_bytes_ == 0 ? 4 : 40)) compare_all();
}

void World::compare_all() {
  // What was not read by then cannot be any more.
  if (disk_.is_dead() && memory_bytes_ != 0) return;
  disk_.set_watched(true);
  compare(process_->broker.view(), model_, now_);
  disk_.set_watched(false);
}

/// What the server does in each turn, without a timer.
void World::turn_over(Time now) {
  const bool is_full = process_->recorder.is_full();
  demand(!is_full || disk_.was_full(), "a disk with room is taken for full");
  const Intake intake = process_->cleaner.intake();
  process_->broker.take_on(intake);
  model_.take_on(intake);
  const bool is_held = process_->cleaner.must_go_first();
  process_->commits.hold(is_held);
  const Time next = is_held ? kNever : process_->broker.tick(now);
  if (!is_held) model_.tick(now);
  for (const std::unique_ptr<Client>& client : process_->clients) {
    if (!client || client->is_silent() || !client->session().wants_close()) continue;
    client->fall_silent();
    demand(model_.evict(client->number(), now), "a worker that is alive was sent away");
  }
  observe();
  count_crowds();
  const server::Cleaner::Next cleaning = process_->cleaner.work();
  if (cleaning == server::Cleaner::Next::kDurable) process_->commits.schedule_when_durable();
  const bool is_cleaning = cleaning == server::Cleaner::Next::kTurn;
  if (next <= now || is_cleaning) process_->commits.schedule();
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
  for (const std::unique_ptr<Client>& client : process_->clients) {
    if (client) observe(*client);
  }
}

void World::observe(Client& client) {
  const std::string who = "client " + std::to_string(client.number());
  for (const std::string& reply : client.take_produced()) {
    if (options_.trace) tell(who + " < " + reply.substr(0, 60));
    const std::optional<Expected> expected = model_.take_expected(client.number());
    if (!expected) throw Violation(who + " was to get no reply, and got " + reply);
    if (!matches(reply, *expected)) {
      throw Violation(who + " was to get " + text_of(*expected) + "\nand got " + reply);
    }
    for (const char byte : reply)
      fingerprint_ = fingerprint_ * 31 + static_cast<unsigned char>(byte);
    std::optional<Model::Fetch> fetch;
    if (const JobId id = expected->fetched; id != 0) {
      fetch = Model::Fetch{id, model_.facts.jobs.at(id).reserved_at};
    }
    client.mark_produced(last_point() + (process_->broker.has_batch() ? 1 : 0), fetch);
  }
  if (const auto missing = model_.take_expected(client.number())) {
    throw Violation(who + " has no reply, and was to get " + text_of(*missing));
  }
}

// ---- clients ------------------------------------------------------------------------------------

void World::client_step() {
  const std::size_t slot = random_.below(kClientSlots);
  Client* const client = process_->clients[slot].get();
  if (client == nullptr) return connect(slot);
  if (process_->commits.is_behind()) return;
  const std::uint64_t kind = random_.below(100);
  if (kind < 3) return disconnect(slot);
  if (kind < 6) return client->set_reading(!client->is_reading(), process_->recorder.durable());
  if (client->is_silent()) return;
  if (kind < 8) return half_close(*client);
  // It says the next thing before it has heard the answer to the last, but not while that is being
  // waited for: the session would only keep it.
  if (!model_.is_waiting(client->number())) command(*client);
}

void World::connect(std::size_t slot) {
  const ClientNumber number = next_client_++;
  const bool is_worker = random_.one_in(2);
  const std::string wid = is_worker ? kWids[random_.below(std::size(kWids))] : "";
  Process& process = *process_;
  std::unique_ptr<Session> session = is_worker ? process.faktory.open() : process.beanstalk.open();
  process.clients[slot] =
      std::make_unique<Client>(number, wid, std::move(session),
                               Client::Events{.on_session_called = [this] { observe(); },
                                              .on_received =
                                                  [this](std::uint64_t point) {
                                                    known_point_ = std::max(known_point_, point);
                                                    ++totals_.replies;
                                                  }});
  Client& client = *process.clients[slot];
  client.session().start(now_);
  if (is_worker) {
    client.session().receive(R"(HELLO {"v":2,"hostname":"h","pid":1,"wid":")" + wid + "\"}\r\n",
                             now_);
    demand(client.take_produced().size() == 2, "the handshake went wrong");
    model_.connect_worker(number, wid, now_);
  } else {
    model_.connect_beanstalk(number);
  }
  process.commits.introduce(client.session(), client);
  process.commits.enlist(client);
  if (options_.trace) tell("client " + std::to_string(number) + " connects as " + wid);
}

void World::half_close(Client& client) {
  if (options_.trace) tell("client " + std::to_string(client.number()) + " closes its side");
  client.fall_silent();
  model_.end_input(client.number());
  client.session().end_of_input(now_);
  observe();
  process_->commits.enlist(client);
}

void World::disconnect(std::size_t slot) {
  const std::unique_ptr<Client> client = std::move(process_->clients[slot]);
  if (options_.trace) tell("client " + std::to_string(client->number()) + " leaves");
  process_->commits.forget(client->session(), *client);
  model_.leave(client->number(), client->unsent_fetches(), now_);
  client->session().close(now_);
  process_->commits.schedule();
  observe();
}

void World::command(Client& client) {
  const Command next = client.is_worker() ? workload_.draw_worker(model_, client.wid(), now_)
                                          : workload_.draw_beanstalk(model_, client.number());
  const std::string text = render(next);
  if (options_.trace) tell("client " + std::to_string(client.number()) + " > " + text);
  ++totals_.operations;
  model_.execute(client.number(), next, now_);
  const std::size_t cut = random_.one_in(4) ? random_.below(text.size()) : 0;
  if (cut > 0) client.session().receive(text.substr(0, cut), now_);
  client.session().receive(text.substr(cut), now_);
  observe();
  process_->commits.enlist(client);
}

/// As the server ends when it is asked to.
void World::end_orderly() {
  for (std::size_t slot = 0; slot < kClientSlots; ++slot) {
    if (process_->clients[slot]) disconnect(slot);
  }
  process_->commits.turn();
  process_->recorder.sync();
  if (disk_.is_dead() || process_->journal->pending_bytes() > 0) return;
  ++totals_.orderly_ends;
  known_point_ = last_point();
}

}  // namespace millrace::simulation
