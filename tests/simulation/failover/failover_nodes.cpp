#include <algorithm>
#include <utility>

#include "server/role/replay.hpp"
#include "simulation/failover/node.hpp"
#include "simulation/violation.hpp"

/// The machines of the failover simulation: what they do, and what happens to them.
namespace millrace::simulation {
namespace {

const std::string kCacheDirectory = "/cache";

}  // namespace

Failover::Node& Failover::any_node() {
  return *nodes_[random_.below(nodes_.size())];
}

// ---- beginnings ---------------------------------------------------------------------------------

void Failover::start(Node& node) {
  if (node.is_alive() || node.down_until > real_) return;
  node.disk.revive(!node.platter.is_powered());
  node.clock.set(real_, real_ + std::chrono::milliseconds(random_.below(4000)),
                 static_cast<int>(random_.below(200)) - 100);
  node.link = std::make_shared<journal::SimulatedLogService>(
      log_, journal::SimulatedLogService::Delivery::kStepped);
  node.link->is_cut_off = node.cut_off_until > real_;
  journal::FileJournalOptions options;
  options.segment_bytes = segment_bytes_;
  options.sync_mode = journal::SyncMode::kOff;
  options.salt = random_.draw();
  options.is_stepped = true;
  node.cache_problem.clear();
  options.on_failure = [&node](const Problem& problem) { node.cache_problem = problem.text; };
  auto opened = journal::FileJournal::open(node.disk, kCacheDirectory, options);
  if (!opened) return fail_start(node, opened.error().text, Cache::kUseless);
  node.process = std::make_unique<Process>(*this, node, std::move(*opened));
  Process& process = *node.process;
  if (memory_bytes_ != 0) process.ledger.memory().limit(process.journal, memory_bytes_);
  const auto replayed =
      server::replay(process.standby_journal, process.ledger, [](Lsn) { return true; });
  if (replayed) {
    process.role.has_replayed();
    tell(node.name + " has started");
    return die_with_disk(node);
  }
  const auto cache = process.journal.is_cache_useless() ? Cache::kUseless : Cache::kOfUse;
  end(node);
  fail_start(node, replayed.error().text, cache);
}

void Failover::fail_start(Node& node, const std::string& why, Cache cache) {
  tell(node.name + " cannot start: " + why);
  node.down_until = real_ + lease_ / 4;
  if (node.disk.is_dead()) return;
  if (cache == Cache::kOfUse) {
    demand(node.cut_off_until > real_, "a start is refused");
    return;
  }
  demand(!node.platter.files().empty(), "an empty directory is refused");
  ++totals_.damaged_caches;
  wipe(node);
}

void Failover::wipe(Node& node) {
  for (const auto& [path, bytes] : node.platter.files()) node.platter.erase(path);
  (void)node.platter.sync_directory(kCacheDirectory);
}

// ---- a machine at work --------------------------------------------------------------------------

/// What is no turn: those need no more than that it is done at some time.
void Failover::work(Node& node) {
  start(node);
  if (!node.is_awake(real_)) return;
  Process& process = *node.process;
  process.journal.step_pump();
  if (process.term) {
    if (process.term->has_stood_down) return start_over(node);
    process.journal.beat();
    if (is_calm_ && leader_ != &process) process.term->run();
  } else {
    follow(node);
  }
  if (!node.is_alive()) return;
  (void)node.process->journal.step_cache();
  die_with_disk(node);
}

/// The process ends in the midst of a change of its cache.
void Failover::die_with_disk(Node& node) {
  if (node.disk.is_dead()) return kill(node);
  demand(node.cache_problem.empty(), "the cache fails");
}

void Failover::follow(Node& node) {
  Process& process = *node.process;
  const auto followed = process.standby.work(node.clock.at(real_));
  if (!followed) throw Violation(node.name + " cannot follow: " + followed.error().text);
  switch (*followed) {
    case SharedJournal::Followed::kOn:
      if (random_.one_in(50)) check_standby(process);
      return;
    case SharedJournal::Followed::kUseless:
      demand(process.journal.is_cache_useless(), "a cache before the log's beginning is of use");
      ++totals_.trimmed_away;
      tell(node.name + " finds the log trimmed");
      end(node);
      wipe(node);
      return start(node);
    case SharedJournal::Followed::kLeads:
      return lead(process);
  }
}

/// Another server leads: it follows again.
void Failover::start_over(Node& node) {
  ++totals_.deposed;
  tell(node.name + " was deposed");
  end(node);
  start(node);
}

// ---- the log service ----------------------------------------------------------------------------

void Failover::deliver(Node& node, Amount amount) {
  if (!node.link) return;
  journal::SimulatedLogService& link = *node.link;
  link.is_cut_off = node.cut_off_until > real_;
  link.lag = node.behind_until > real_ ? 2 : 0;
  bool has_some = true;
  while (has_some) {
    if (!is_calm_ && random_.one_in(100) && link.lose_request()) ++totals_.requests_lost;
    if (!is_calm_ && random_.one_in(200) && link.deliver_beginning()) ++totals_.entries_in_parts;
    has_some = link.deliver_request();
    audit_.read();
    if (node.deaf_until <= real_ && link.deliver_answer()) has_some = true;
    if (amount == Amount::kOne) break;
  }
  const std::uint64_t asked = link.oldest_unanswered();
  if (asked == 0) return;
  if (std::exchange(node.asked, asked) != asked) node.asked_at = real_;
  const bool is_late = real_ - node.asked_at >= journal::kAnswerMax;
  if (!is_late && (is_calm_ || !random_.one_in(200))) return;
  ++totals_.answers_lost;
  link.time_out();
}

/// What a process had sent before its end arrives, or does not.
void Failover::deliver_orphan() {
  std::erase_if(orphans_, [this](const Orphan& orphan) { return orphan.until < real_; });
  if (orphans_.empty()) return;
  journal::SimulatedLogService& link = *orphans_.front().link;
  if (random_.one_in(4)) {
    (void)link.lose_request();
  } else if (link.deliver_request()) {
    ++totals_.late_requests;
    audit_.read();
  }
  if (!link.has_requests()) orphans_.erase(orphans_.begin());
}

// ---- ends ---------------------------------------------------------------------------------------

void Failover::kill(Node& node) {
  if (!node.is_alive()) return;
  const bool is_powered = node.platter.is_powered();
  tell(node.name + (is_powered ? " is killed" : " loses power"));
  ++(is_powered ? totals_.kills : totals_.power_cuts);
  node.disk.die();
  node.link->is_cut_off = true;
  end(node);
}

/// The disk notices with its next change.
void Failover::cut_power(Node& node) {
  node.platter.cut_power_at(1);
  (void)node.platter.create(kCacheDirectory + "/none");
}

/// The process is gone. Unless it was killed, it ends in order.
void Failover::end(Node& node) {
  if (node.process->term) {
    totals_.segments_removed += node.process->term->main.compactor.removed_segments();
  }
  if (leader_ == node.process.get()) leader_ = nullptr;
  node.process.reset();
  node.link->is_cut_off = false;
  if (node.link->has_requests()) {
    orphans_.push_back({.link = node.link, .until = real_ + journal::kAnswerMax});
  }
  node.link.reset();
  node.paused_until = {};
}

void Failover::hand_over(Node& node) {
  if (!node.is_awake(real_) || leader_ != node.process.get()) return;
  poll();
  if (!node.is_awake(real_) || leader_ != node.process.get()) return;
  tell(node.name + " hands over");
  ++totals_.handovers;
  node.process->journal.release();
  for (int i = 0; i < 8; ++i) {
    node.process->journal.step_pump();
    deliver(node, Amount::kAll);
  }
  end(node);
}

// ---- faults -------------------------------------------------------------------------------------

void Failover::strike(Node& node) {
  const Duration longest = 3 * lease_;
  const auto for_a_while = [&] {
    return real_ + Duration(random_.below(static_cast<std::uint64_t>(longest.count())));
  };
  const std::uint64_t kind = random_.below(100);
  if (kind < 12) {
    kill(node);
    node.down_until = for_a_while();
  } else if (kind < 24) {
    cut_power(node);
    kill(node);
    node.down_until = for_a_while();
  } else if (kind < 34) {
    node.disk.plan(random_.one_in(2) ? Fault::kPowerCut : Fault::kKill, random_.between(1, 12));
  } else if (kind < 38) {
    kill(node);
    wipe(node);
    ++totals_.wiped_caches;
    tell(node.name + "'s cache is wiped");
    node.down_until = for_a_while();
  } else if (kind < 55) {
    if (model_.is_working()) return;
    ++totals_.pauses;
    node.paused_until = for_a_while();
    tell(node.name + " is paused");
  } else if (kind < 72) {
    ++totals_.cuts;
    node.cut_off_until = for_a_while();
    tell(node.name + " is cut off");
  } else if (kind < 80) {
    ++totals_.cuts;
    node.deaf_until = for_a_while();
    tell(node.name + " hears no answers");
  } else if (kind < 85) {
    node.behind_until = for_a_while();
  } else {
    hand_over(node);
  }
}

/// Nothing fails from now on.
void Failover::heal() {
  is_calm_ = true;
  orphans_.clear();
  for (const std::unique_ptr<Node>& node : nodes_) {
    node->disk.plan_none();
    node->paused_until = node->down_until = {};
    node->cut_off_until = node->deaf_until = node->behind_until = {};
  }
}

}  // namespace millrace::simulation
