#include <algorithm>

#include "simulation/process.hpp"
#include "simulation/violation.hpp"
#include "simulation/world.hpp"

/// Whatever happened, the server comes to rest in the end, and has answered everybody: on a full
/// disk too, where nothing but the end of jobs makes room, and then when there is room again.
namespace millrace::simulation {
namespace {

/// More than any world needs.
constexpr int kRoundsMax = 1000;
constexpr int kRoundsWithClients = kRoundsMax / 2;

/// A segment from which on it holds some batches of the largest.
constexpr std::uint64_t kRoomySegmentBytes = 16384;
constexpr std::uint64_t kCrowdedRoomySegmentBytes = 256 * 1024;

}  // namespace

void World::come_to_rest() {
  if (disk_.is_dead()) return;
  settle_log();
  is_resting_ = true;
  if (disk_.is_dead()) return;
  settle_log();
  if (disk_.is_dead()) return;
  if (is_spared() && !workload_.is_crowded() && random_.one_in(2)) end_all_jobs();
  if (disk_.is_dead()) return;
  disk_.plan_none();
  disk_.make_endless();
  settle_log();
  if (disk_.is_dead()) return;
  demand(!is_full(process_->recorder), "room that there is again is not found");
  demand_answers();
}

/// The spare was whole, and is for its owner, and for segments that hold some batches of the
/// largest: a longer one finds no reserved file.
bool World::is_spared() const {
  if (!disk_.is_full() && !is_full(process_->recorder)) return false;
  const std::uint64_t roomy =
      workload_.is_crowded() ? kCrowdedRoomySegmentBytes : kRoomySegmentBytes;
  if (workload_.sizes().is_siege && !disk_.is_full()) return was_spare_whole_;
  return disk_.spare_when_filled() != 0 && segment_bytes_ >= roomy;
}

/// On a full disk, while it is.
void World::end_all_jobs() {
  demand(!process_->turn.is_paused(), "on a full disk nobody is listened to");
  let_read([&] {
    if (process_->clients[0]) disconnect(0);
    connect(0, true);
    say(*process_->clients[0], {{.verb = Verb::kFlush}});
  });
  if (!disk_.is_dead()) settle_log();
  if (disk_.is_dead()) return;
  demand(model_.facts.jobs.empty(), "jobs cannot be ended on a full disk");
  const Journal::Extent log = process_->recorder.extent();
  demand(log.end - log.begin <= 4 * segment_bytes_, "jobs that ended keep their room");
  demand_answers();
  ++totals_.emptied_full;
}

/// All clients that read have got their replies.
void World::demand_answers() {
  const Lsn durable = process_->recorder.durable();
  demand(durable == process_->recorder.extent().end, "something is never written");
  demand(!process_->turn.is_paused(), "nobody is listened to any more");
  demand(process_->turn.is_at_rest(), "replies are kept back for ever");
  demand(!model_.is_working(), "an operation on many jobs does not end");
  for (const std::unique_ptr<Client>& client : process_->clients) {
    if (!client) continue;
    client->set_reading(true, durable);
    demand(client->has_heard_all(), "a reply never comes");
  }
}

/// Lets cleaning come to rest: then the log is no longer than is promised, and on a full disk
/// nothing waits for room.
void World::settle_log() {
  // A segment is removed when what replaces it is durable, so the disk and the turns work in turn.
  Journal::Extent log;
  Journal::Extent before;
  int still = 0;  // rounds in which nothing moved: in one of them it may be seen that there is room
  for (int i = 0; still < 2; ++i) {
    demand(i < kRoundsMax, "cleaning does not come to rest");
    // Clients may say more than is cleaned meanwhile.
    if (i == kRoundsWithClients) is_resting_ = true;
    before = process_->recorder.extent();
    const std::uint64_t live_before = process_->ledger.live_bytes();
    // Twice: what became durable in one of them is known in the next.
    for (int half = 0; half < 2; ++half) {
      let_read([&] {
        process_->turn.request();
        poll();
      });
      if (!disk_.is_dead()) let_read([&] { write_as_it_is(); });
      if (disk_.is_dead()) return;
    }
    log = process_->recorder.extent();
    // A client may say something at the very end: it is not in the log yet.
    const bool has_moved = before.begin != log.begin || before.end != log.end ||
                           live_before != process_->ledger.live_bytes();
    still = has_moved ? 0 : still + 1;
  }
  if (disk_.is_full() || is_full(process_->recorder)) {
    demand(!is_spared() || process_->journal->durable() == log.end,
           "a full disk does not take what was accepted");
    totals_.settled_full += is_spared() ? 1 : 0;
    totals_.sieges += is_spared() && workload_.sizes().is_siege ? 1 : 0;
    return;
  }
  // The segment that is written to stays, and is as long as a batch when that is longer.
  const std::uint64_t newest = std::max(segment_bytes_, log.end - log.newest_begin);
  demand(log.end - log.begin <= 2 * process_->ledger.live_bytes() + 3 * segment_bytes_ + newest,
         "the log is longer than twice what is needed, and four segments");
  ++totals_.settled;
}

}  // namespace millrace::simulation
