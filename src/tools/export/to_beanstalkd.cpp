#include "tools/export/to_beanstalkd.hpp"

#include <algorithm>
#include <chrono>

#include "tools/peers/peer_addresses.hpp"

namespace millrace::tools {
namespace {

/// A job that is to be buried waits so long for it: no worker gets it meanwhile.
constexpr std::uint64_t kUntilBuriedSeconds = 3600;

std::uint64_t delay_of(const Job& job, Time now, WallClock wall) {
  if (job.state == JobState::kDead) return kUntilBuriedSeconds;
  if (job.state != JobState::kScheduled && job.state != JobState::kRetrying) return 0;
  const Duration left = job.steady_when(wall) - now;
  if (left <= Duration{}) return 0;
  // Rounded up: no job may come early.
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(left).count();
  return std::min<std::uint64_t>(static_cast<std::uint64_t>(seconds), UINT32_MAX);
}

}  // namespace

Outcome<ToBeanstalkd> ToBeanstalkd::connect(const client::Target& target,
                                            const WorkUnitFormat& format) {
  auto peer = connect_beanstalk(target);
  if (!peer) return peer.error();
  auto stats = ask_beanstalk_stats(*peer);
  if (!stats) return stats.error();
  // It is drawn at each start.
  return ToBeanstalkd(std::move(*peer), "id " + (*stats)["id"], format);
}

Outcome<std::vector<std::string>> ToBeanstalkd::give(const std::vector<LeavingJob>& jobs, Time now,
                                                     WallClock wall, std::uint64_t /*salt*/) {
  std::vector<std::string> refusals(jobs.size());
  std::vector<std::size_t> sent;
  const auto read_sent = [&]() -> Outcome<Done> {
    for (const std::size_t i : sent) {
      auto refusal = read_put(*jobs[i].job, jobs[i].job->state == JobState::kDead);
      if (!refusal) return refusal.error();
      refusals[i] = std::move(*refusal);
    }
    sent.clear();
    return Done{};
  };
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!jobs[i].job->has_body()) {
      refusals[i] = kBodyUnreadable;
      continue;
    }
    if (jobs[i].queue != used_) {
      // The answers come in order.
      if (auto read = read_sent(); !read) return read.error();
      const auto is_tube = use(jobs[i].queue);
      if (!is_tube) return is_tube.error();
      if (!*is_tube) {
        refusals[i] = "no tube can have that name";
        continue;
      }
    }
    put(jobs[i], now, wall);
    sent.push_back(i);
    // What bury asks comes after all answers to puts.
    if (jobs[i].job->state != JobState::kDead) continue;
    if (auto read = read_sent(); !read) return read.error();
  }
  if (auto read = read_sent(); !read) return read.error();
  return refusals;
}

Outcome<bool> ToBeanstalkd::use(std::string_view queue) {
  const auto answer = peer_.ask("use " + std::string(queue));
  if (!answer) return answer.error();
  if (*answer == "BAD_FORMAT") return false;
  if (!answer->starts_with("USING ")) return peer_.odd(*answer);
  used_ = queue;
  return true;
}

void ToBeanstalkd::put(const LeavingJob& leaving, Time now, WallClock wall) {
  const Job& job = *leaving.job;
  std::string_view body = job.body_view();
  if (job.kind == JobKind::kWorkUnit) {
    shown_.clear();
    format_.render_whole(job, leaving.queue, wall, shown_);
    body = shown_;
  }
  peer_.send("put " + std::to_string(job.pri) + " " + std::to_string(delay_of(job, now, wall)) +
             " " + std::to_string(job.ttr_s) + " " + std::to_string(body.size()));
  peer_.send(body);
}

/// Why it was not taken.
Outcome<std::string> ToBeanstalkd::read_put(const Job& job, bool is_to_be_buried) {
  constexpr std::string_view kInserted = "INSERTED ";
  const auto answer = peer_.line();
  if (!answer) return answer.error();
  if (*answer == "JOB_TOO_BIG") return std::string("longer than that server takes (-z)");
  if (*answer == "DRAINING") return Problem{peer_.name() + " takes no jobs: it is draining"};
  if (!answer->starts_with(kInserted)) return peer_.odd(*answer);
  if (!is_to_be_buried) return std::string();
  return bury(std::string_view(*answer).substr(kInserted.size()), job.pri);
}

Outcome<std::string> ToBeanstalkd::bury(std::string_view id, Pri pri) {
  const std::string job(id);
  // At once: if the connection were lost in between, the job would be ready.
  peer_.send("reserve-job " + job);
  peer_.send("bury " + job + " " + std::to_string(pri));
  const auto reserved = peer_.line();
  if (!reserved) return reserved.error();
  if (*reserved == "UNKNOWN_COMMAND") {
    if (auto not_found = peer_.line(); !not_found) return not_found.error();
    const auto deleted = peer_.ask("delete " + job);
    if (!deleted) return deleted.error();
    return std::string("a job can be buried since beanstalkd 1.12 only");
  }
  if (!reserved->starts_with("RESERVED ")) return peer_.odd(*reserved);
  if (auto body = peer_.body(*reserved); !body) return body.error();
  const auto buried = peer_.line();
  if (!buried) return buried.error();
  if (*buried != "BURIED") return peer_.odd(*buried);
  return std::string();
}

/// Its longest pause ends.
Outcome<bool> ToBeanstalkd::pause(std::string_view) {
  return false;
}

}  // namespace millrace::tools
