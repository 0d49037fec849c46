#include "simulation/runner.hpp"

#include <deque>

#include "simulation/violation.hpp"

namespace millrace::simulation {
namespace {

constexpr const char* kFaultNames[kFaultCount] = {
    "power cuts", "kills",        "failed writes", "failed syncs",
    "full disks", "failed reads", "short reads",   "decayed bits",
};

}  // namespace

WorldEnd run_world(const World::Options& options) {
  WorldEnd end;
  World world(options);
  try {
    world.run();
  } catch (const Violation& violation) {
    end.violation = violation.what();
  }
  end.totals = world.totals();
  end.fingerprint = world.fingerprint();
  return end;
}

std::string last_events(World::Options options, std::size_t count) {
  std::deque<std::string> events;
  options.trace = [&](const std::string& event) {
    events.push_back(event);
    if (events.size() > count) events.pop_front();
  };
  (void)run_world(options);
  std::string text;
  for (const std::string& event : events) {
    text += event.substr(0, event.find_last_not_of("\r\n") + 1) + "\n";
  }
  return text;
}

std::string to_text(const Totals& totals) {
  const auto row = [](std::uint64_t number, const std::string& what) {
    return std::to_string(number) + " " + what + "\n";
  };
  std::string text =
      row(totals.worlds, "worlds") + row(totals.operations, "operations") +
      row(totals.replies, "replies received") + row(totals.batches, "batches appended") +
      row(totals.disk_changes, "changes of the disk") + row(totals.recoveries, "recoveries") +
      row(totals.jobs_rewritten, "jobs written again by compaction") +
      row(totals.segments_removed, "segments removed by compaction") +
      row(totals.batches_lost, "batches lost that nobody had heard of") +
      row(totals.orderly_ends, "orderly ends") +
      row(totals.refused_starts, "starts that met a fault") +
      row(totals.bodies_read, "bodies read from the log") +
      row(totals.bodies_lost, "of them not, for a fault") +
      row(totals.settled, "logs at rest, each within its bound") +
      row(totals.backups, "backups that a server started on") +
      row(totals.backups_failed, "that did not come about, mostly since the server ended") +
      row(totals.settled_full, "full disks at rest, with all that was accepted on them") +
      row(totals.sieges, "of them with jobs that fail with much to say") +
      row(totals.emptied_full, "of them where all jobs could be ended") +
      row(totals.taken_away, "directories moved away") +
      row(totals.clock_jumps, "jumps of the clock") +
      row(totals.clock_steps, "steps of the wall clock") +
      row(totals.spreads, "times that all failed jobs were retried, within some time") +
      row(totals.moves, "jobs moved to another queue") +
      row(totals.crowds, "crowds of more than 512 jobs that came and went") +
      row(totals.handed_out_again, "jobs handed out whose reservation was lost in a crash") +
      row(totals.unsynced_lost, "batches told of and lost before the interval was over");
  const FeatureTotals& features = totals.features;
  text += row(features.worlds, "worlds with unique, expiring and tracked jobs, and batches") +
          row(features.not_unique, "replies that refuse a job, since another holds its lock") +
          row(features.expired, "jobs expired") + row(features.tracks, "tracks told") +
          row(features.batches, "batches of jobs") +
          row(features.batches_dropped, "of them never committed, and dropped") +
          row(features.callbacks, "callbacks pushed") +
          row(features.limits_by_hand, "limits set by hand") +
          row(features.marks, "marks of errors set or removed") +
          row(features.views, "views saved or removed") +
          row(features.changes, "changes of people noted or counted") +
          row(features.tokens, "tokens made or revoked") +
          row(features.jobs_lost, "jobs that came back from workers that were gone") +
          row(features.slots_reclaimed, "slots taken back from workers that were gone") +
          row(features.pushes_repeated, "pushes that were sent again, and added no job") +
          row(features.finished_recovered, "jobs that a start knew to have ended");
  for (std::size_t i = 0; i < kFaultCount; ++i) text += row(totals.faults[i], kFaultNames[i]);
  return text + std::to_string(totals.flips) +
         " flipped bits: " + std::to_string(totals.flips_refused) + " refused, " +
         std::to_string(totals.flips_cut) + " cut off with the tail, " +
         std::to_string(totals.flips - totals.flips_refused - totals.flips_cut) + " harmless\n";
}

}  // namespace millrace::simulation
