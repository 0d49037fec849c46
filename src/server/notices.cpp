#include "server/notices.hpp"

#include <utility>

#include "base/text.hpp"
#include "server/net/peer.hpp"
#include "server/options/config.hpp"

namespace millrace::server {

void Notices::disk(bool is_full) {
  if (std::exchange(is_disk_full_, is_full) == is_full) return;
  if (!is_full) return log_.event("disk_has_room");
  const DiskSpace* const space = journal_.disk_space();
  const std::string problem = space != nullptr ? space->problem() : std::string();
  log_.event("disk_full", {{"problem", problem},
                           {"advice",
                            "free space or let workers finish jobs; --segment-bytes (beanstalkd: "
                            "-s) makes what is reserved smaller"}});
}

void Notices::memory(bool is_full) {
  if (std::exchange(is_memory_full_, is_full) == is_full) return;
  log_.event(is_full ? "memory_full" : "memory_has_room",
             {{"bytes", ledger_.memory().needed_bytes()}});
}

void Notices::admission(Admission before, Admission admission, Time now) {
  // Only what got worse. That no jobs are added is told with its reason, by the two above.
  if (admission < Admission::kNoGrowth || admission <= before) return;
  const bool is_endings_only = admission == Admission::kEndingsOnly;
  LogLimit& limit = is_endings_only ? reservations_refused_ : growth_refused_;
  if (!limit.admits(now)) return;
  log_.event(is_endings_only ? "reservations_refused" : "job_growth_refused",
             {{"live_bytes", ledger_.live_bytes()}});
}

void Notices::name_used_twice(const std::string& node, Time now) {
  if (!names_used_twice_.admits(now)) return;
  log_.event("node_name_used_twice", {{"node", one_line(node, kNodeBytesMax)}});
}

/// Anybody may have sent the name.
void Notices::report_refused(const std::string& claimed, const std::string& reason, Time now) {
  if (!reports_refused_.admits(now)) return;
  log_.event("node_report_refused", {{"node", one_line(claimed, kNodeBytesMax)},
                                     {"reason", one_line(reason, kProblemBytesMax)}});
}

void Notices::stranger(const char* port, int descriptor, Time now) {
  if (!strangers_.admits(now)) return;
  const auto uid = user_of_peer(descriptor);
  log_.event("client_without_user", {{"port", port}, {"uid", uid ? std::to_string(*uid) : "none"}});
}

void Notices::leader_out_of_reach(const std::string& node, const std::string& ports, Time now) {
  if (ports.empty() || !out_of_reach_.admits(now)) return;
  log_.event("leader_out_of_reach", {{"leader", one_line(node, kNodeBytesMax)},
                                     {"ports", one_line(ports, kProblemBytesMax)}});
}

/// A line for each: somebody will ask why this job ran twice.
void Notices::on_taken_back(const Job& job, const Queue& queue, JobState next, Time now) {
  const Reservation& held = *job.reservation();
  log_.event("job_taken_back", {{"job", job.id},
                                {"jid", one_line(held.jid, kJidBytesMax)},
                                {"queue", queue.name},
                                {"worker", one_line(held.wid, kWidBytesMax)},
                                {"held_s", (now - held.reserved_at) / 1s},
                                {"state", next == JobState::kDead ? "dead" : "ready"}});
}

/// A line for each: somebody has to push it again.
void Notices::on_body_unreadable(const Job& job, const Queue& queue, std::string_view why) {
  log_.event(
      "body_unreadable",
      {{"job", job.id}, {"queue", queue.name}, {"problem", one_line(why, kProblemBytesMax)}});
}

void Notices::leader_not_trusted(const std::string& node, const std::string& problem, Time now) {
  if (problem.empty() || !not_trusted_.admits(now)) return;
  log_.event("leader_not_trusted", {{"leader", one_line(node, kNodeBytesMax)},
                                    {"problem", one_line(problem, kProblemBytesMax)}});
}

/// Once: an application that makes this mistake makes it with each push.
void Notices::locks_without_time(std::uint64_t count) {
  if (count == 0 || std::exchange(is_lock_reported_, true)) return;
  log_.event("lock_without_time", {{"missing", "unique_for"}});
}

/// One line for all segments that were removed since the last one.
void Notices::removed_segments(std::uint64_t count, Time now) {
  const std::uint64_t removed = count - segments_logged_;
  if (removed == 0 || !removals_.admits(now)) return;
  segments_logged_ += removed;
  const Journal::Extent log = journal_.extent();
  const DiskSpace* const space = journal_.disk_space();
  log_.routine("segments_removed",
               {{"count", removed},
                {"segments_left", space != nullptr ? space->segment_count() : 1},
                {"bytes_left", log.end - log.begin},
                {"live_bytes", ledger_.live_bytes()}});
}

}  // namespace millrace::server
