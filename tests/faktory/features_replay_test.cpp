/// A server with all that jobs can have is killed after each frame of its log, in one run: what a
/// restart then finds is what follows from the jobs. Records within a frame are not looked at,
/// since a frame is read whole or not at all.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/model/codec.hpp"
#include "core/state/store.hpp"
#include "support/doctest.hpp"
#include "support/in_memory_server.hpp"

namespace millrace::test {
namespace {

// ---- recomputing --------------------------------------------------------------------------------

/// What is counted of a batch, from the jobs.
struct Counted {
  std::uint64_t pending = 0;
  std::uint64_t failing = 0;
  std::uint64_t unexecuted = 0;
  std::uint64_t children = 0;
  std::uint64_t unsettled = 0;
  std::map<BatchRole, JobId> callbacks;
};

/// A process that has read the log up to the end of a frame, and serves nobody yet.
class Restarted {
 public:
  void replay(const std::string& frame, Lsn begin) {
    REQUIRE(ledger_.replay(frame, begin));
    ++frames_;
  }

  /// Demands that locks, batches and tracks are those of the jobs.
  void check() {
    CAPTURE(frames_);
    counted_.clear();
    check_locks();
    count_jobs();
    count_children();
    for (const JobBatches::Slot slot : store().batches().by_creation()) {
      check_batch(store().batches().at(slot));
    }
    check_tracks();
  }

  /// Tells it the limits of a queue, and demands that the slots are those of the reservations.
  void check_slots(const ThrottleRule& rule) {
    CAPTURE(frames_);
    broker_.admin().set_throttle_rules(
        {.list = {rule},
         .find = [&](std::string_view queue) { return queue == rule.pattern ? &rule : nullptr; }},
        ledger_.latest_time());
    const Throttle* const throttle = broker_.view().throttles().table().find(rule.pattern);
    if (throttle == nullptr) return;
    std::uint64_t reserved = 0;
    each_job([&](const Job& job) {
      const bool is_of_queue = store().queues().at(job.queue).name == rule.pattern;
      reserved += is_of_queue && job.state == JobState::kReserved ? 1 : 0;
    });
    CHECK(throttle->taken() == reserved);
  }

  [[nodiscard]] const Store& store() const { return ledger_.store(); }

 private:
  template <typename Visit>
  void each_job(Visit&& visit) const {
    for (JobSlot slot = 0; slot < store().jobs().slot_end(); ++slot) {
      if (const Job* const job = store().jobs().in_slot(slot)) visit(*job);
    }
  }

  void check_locks() {
    std::size_t held = 0;
    each_job([&](const Job& job) {
      if (!job.features || !job.has_mark(job_marks::kHoldsLock)) return;
      ++held;
      const auto holder = store().jobs().locks().holder(job.features->lock_key);
      CHECK((holder && store().jobs().at(*holder).id == job.id));
      CHECK(job.state != JobState::kDead);
    });
    CHECK(store().jobs().locks().size() == held);
  }

  void count_jobs() {
    std::size_t tracked = 0;
    each_job([&](const Job& job) {
      if (!job.features) return;
      tracked += job.features->is_tracked;
      if (job.features->batch == 0) return;
      Counted& counted = counted_[job.features->batch];
      if (job.features->is_callback()) {
        // None of them twice.
        CHECK(counted.callbacks.emplace(job.features->batch_role(), job.id).second);
        return;
      }
      ++counted.pending;
      counted.failing += job.has_mark(job_marks::kHasFailed) ? 1 : 0;
      counted.unexecuted += job.has_mark(job_marks::kHasRun) ? 0 : 1;
    });
    CHECK(store().jobs().tracked().size() == tracked);
  }

  void count_children() {
    for (const JobBatches::Slot slot : store().batches().by_creation()) {
      const JobBatch& batch = store().batches().at(slot);
      if (batch.parent == 0) continue;
      ++counted_[batch.parent].children;
      counted_[batch.parent].unsettled += batch.fields.is_settled() ? 0 : 1;
    }
  }

  void check_batch(const JobBatch& batch) {
    const Counted& counted = counted_[batch.id];
    const JobBatchFields& fields = batch.fields;
    CHECK(fields.pending == counted.pending);
    CHECK(fields.failing == counted.failing);
    CHECK(fields.unexecuted == counted.unexecuted);
    CHECK(fields.children == counted.children);
    CHECK(fields.unsettled == counted.unsettled);
    CHECK(fields.total >= fields.pending + fields.lost);
    // What a frame makes due is in it.
    CHECK_FALSE(fields.has_work());
    for (const BatchRole role : {BatchRole::kComplete, BatchRole::kSuccess, BatchRole::kDeath}) {
      const auto job = counted.callbacks.find(role);
      const bool is_there = job != counted.callbacks.end();
      CHECK((fields.callback(role) == CallbackState::kEnqueued) == is_there);
      if (is_there) CHECK(fields.callback_job(role) == job->second);
    }
  }

  /// A track that has not ended is that of a tracked job.
  void check_tracks() {
    const Tracks& tracks = store().tracks();
    for (Tracks::Slot slot = 0; slot < tracks.slot_end(); ++slot) {
      const Track* const track = tracks.in_slot(slot);
      if (track == nullptr || track->has_ended()) continue;
      CHECK_FALSE(store().jobs().tracked().candidates(jid_hash(track->jid), 1).empty());
    }
  }

  faktory::WorkUnits format_;
  Ledger ledger_;
  Broker broker_{ledger_, format_, {}};
  std::map<JobBatchId, Counted> counted_;
  std::size_t frames_ = 0;
};

/// All that must be the same after a restart, but for jobs in the hands of connections.
std::vector<std::string> told(const Store& store, std::uint64_t next_id) {
  std::vector<std::string> lines{std::to_string(next_id)};
  for (const JobBatches::Slot slot : store.batches().by_creation()) {
    const JobBatch& batch = store.batches().at(slot);
    lines.emplace_back(batch.added_view());
    encode(JobBatchChanged{.id = batch.id, .fields = batch.fields}, lines.back());
  }
  std::set<std::string> tracks;
  for (Tracks::Slot slot = 0; slot < store.tracks().slot_end(); ++slot) {
    const Track* const track = store.tracks().in_slot(slot);
    if (track == nullptr) continue;
    std::string line;
    encode(record_of(*track), line);
    tracks.insert(line);
  }
  lines.insert(lines.end(), tracks.begin(), tracks.end());
  return lines;
}

// ---- the load -----------------------------------------------------------------------------------

/// Clients that use everything, always in the same way.
class Load {
 public:
  Load() {
    for (const std::string& worker : kWorkers) {
      server.connect(worker, Protocol::kFaktory);
      (void)server.ask(worker,
                       R"(HELLO {"v":2,"hostname":"h","pid":1,"wid":")" + worker + "\"}\r\n");
    }
    server.connect(kTube, Protocol::kBeanstalk);
    (void)server.ask(kTube, "watch low\r\n");
  }

  void step() {
    const std::string& worker = kWorkers[below(kWorkers.size())];
    switch (below(22)) {
      case 0:
      case 1:
      case 2:
        return send(worker, "PUSH " + job());
      case 3:
        return send(worker, "PUSHB [" + job() + "," + job() + "," + job() + "]");
      case 4:
        return make_batch(worker);
      case 5:
        return use_batch(worker, "OPEN ");
      case 6:
      case 7:
        return use_batch(worker, "COMMIT ");
      case 8:
      case 9:
      case 10:
      case 11:
        return fetch(worker);
      case 12:
      case 13:
      case 14:
        return end(worker, "ACK ", R"("})");
      case 15:
        return end(worker, "FAIL ", R"(","errtype":"E","message":"m"})");
      case 16:
        return track(worker);
      case 17:
        return mutate(worker);
      case 18:
        return pass(std::chrono::milliseconds(below(4) == 0 ? 90'000 : below(3'000)));
      default:
        return use_tube();
    }
  }

  InMemoryServer server;
  std::size_t refused = 0;

 private:
  static inline const std::vector<std::string> kWorkers = {"worker-1", "worker-2", "worker-3"};
  static inline const std::string kTube = "tube";

  std::uint64_t below(std::uint64_t end) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 33) % end;
  }

  void send(const std::string& client, const std::string& line) {
    const std::string reply = server.ask(client, line + "\r\n");
    REQUIRE_FALSE(reply.empty());
    refused += reply.find("NOTUNIQUE") != std::string::npos ? 1 : 0;
  }

  /// Workers stay alive.
  void pass(Duration time) {
    constexpr Duration kBetweenBeats = 30s;
    for (; time > Duration{}; time -= kBetweenBeats) {
      for (const std::string& worker : kWorkers) {
        server.send(worker, R"(BEAT {"wid":")" + worker + "\"}\r\n");
      }
      server.advance(std::min(time, kBetweenBeats));
    }
  }

  std::string new_jid() { return "jid-of-job-" + std::to_string(++named_); }

  std::string job() {
    std::string custom = R"("track":)" + std::to_string(below(2));
    if (below(2) == 0) custom += R"(,"unique_for":60,"unique_until":"success")";
    if (below(3) == 0) custom += R"(,"unique_for":3,"unique_until":"start")";
    if (below(4) == 0) custom += R"(,"expires_in":)" + std::to_string(1 + below(5));
    if (!bids_.empty() && below(2) == 0) custom += R"(,"bid":")" + a_bid() + '"';
    return R"({"jid":")" + new_jid() + R"(","jobtype":"T","queue":")" +
           (below(2) == 0 ? "low" : "default") + R"(","retry":)" + std::to_string(below(3)) +
           R"(,"args":[)" + std::to_string(below(6)) + R"(],"custom":{)" + custom + "}}";
  }

  const std::string& a_bid() { return bids_[below(bids_.size())]; }

  void make_batch(const std::string& worker) {
    const auto callback = [&](const std::string& role) {
      return '"' + role + R"(":{"jid":")" + new_jid() + R"(","jobtype":"C","args":[]})";
    };
    std::string json = callback("success");
    if (below(2) == 0) json += "," + callback("complete");
    if (below(3) == 0) json += "," + callback("death");
    if (!bids_.empty() && below(2) == 0) json += R"(,"parent_bid":")" + a_bid() + '"';
    const std::string reply = server.ask(worker, "BATCH NEW {" + json + "}\r\n");
    const std::size_t begin = reply.find("b-");
    constexpr std::size_t kBidBytes = 16;
    if (reply.starts_with("$16")) bids_.push_back(reply.substr(begin, kBidBytes));
    constexpr std::size_t kBidsMost = 6;
    if (bids_.size() > kBidsMost) bids_.erase(bids_.begin());
  }

  void use_batch(const std::string& worker, const std::string& verb) {
    if (!bids_.empty()) send(worker, "BATCH " + verb + a_bid());
  }

  void fetch(const std::string& worker) {
    server.send(worker, "FETCH low default\r\n");
    pass(2s);
    const std::string reply = server.take_output(worker);
    const std::size_t begin = reply.find("jid-of-job-");
    if (begin == std::string::npos) return;
    held_.push_back(reply.substr(begin, reply.find('"', begin) - begin));
  }

  void end(const std::string& worker, const std::string& verb, const std::string& rest) {
    if (held_.empty()) return;
    const std::size_t at = below(held_.size());
    send(worker, verb + R"({"jid":")" + held_[at] + rest);
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void track(const std::string& worker) {
    const std::string jid = held_.empty() ? "nobody-has-it" : held_[below(held_.size())];
    send(worker, R"(TRACK SET {"jid":")" + jid + R"(","percent":)" + std::to_string(below(101)) +
                     R"(,"desc":"at work"})");
  }

  void mutate(const std::string& worker) {
    static const std::vector<std::string> kCommands = {
        R"(MUTATE {"cmd":"kill","target":"retries"})",
        R"(MUTATE {"cmd":"requeue","target":"dead"})",
        R"(MUTATE {"cmd":"discard","target":"retries"})",
        R"(MUTATE {"cmd":"discard","target":"dead"})", "QUEUE REMOVE low"};
    send(worker, kCommands[below(kCommands.size())]);
  }

  void use_tube() {
    const std::string reply = server.ask(kTube, "reserve-with-timeout 0\r\n");
    if (!reply.starts_with("RESERVED ")) return;
    const std::size_t begin = reply.find(' ') + 1;
    const std::string id = reply.substr(begin, reply.find(' ', begin) - begin);
    switch (below(4)) {
      case 0:
        return send(kTube, "delete " + id);
      case 1:
        return send(kTube, "bury " + id + " 0");
      case 2:
        return send(kTube, "release " + id + " 0 0");
      default:
        // It keeps the job until its time is over.
        return;
    }
  }

  std::uint64_t state_ = 21;
  std::size_t named_ = 0;
  std::vector<std::string> bids_;
  std::vector<std::string> held_;
};

}  // namespace

TEST_CASE("features: after each frame of a mixed load, all is as recomputed from the jobs") {
  constexpr int kSteps = 1500;
  constexpr std::size_t kWholeEvery = 100;
  const ThrottleRule rule{.pattern = "low", .limits = {.concurrency = 3, .timeout_s = 1'000'000}};
  Load load;
  Restarted steadily;
  std::vector<std::string> frames;
  std::vector<Lsn> begins;
  Lsn end = 24;
  for (int i = 0; i < kSteps; ++i) {
    load.step();
    for (std::string& frame : load.server.take_batches()) {
      steadily.replay(frame, end);
      steadily.check();
      begins.push_back(end);
      end += frame.size();
      frames.push_back(std::move(frame));
      if (frames.size() % kWholeEvery != 0) continue;
      // A process that begins with nothing, and goes on.
      Restarted anew;
      for (std::size_t j = 0; j < frames.size(); ++j) anew.replay(frames[j], begins[j]);
      anew.check();
      anew.check_slots(rule);
    }
    const Store& live = load.server.broker().ledger().store();
    const auto next_id = live.totals().now().next_id;
    CHECK(told(steadily.store(), next_id) == told(live, next_id));
  }
  const Tally& tally = load.server.broker().view().tally();
  CHECK(frames.size() > 1000);
  CHECK(load.refused > 10);
  CHECK(tally.jobs_expired > 10);
  CHECK(tally.batch_callbacks > 10);
}

}  // namespace millrace::test
