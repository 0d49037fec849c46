#include "server/export/to_faktory.hpp"

#include "faktory/json/text.hpp"
#include "server/export/pushed_text.hpp"

namespace millrace::server {
namespace {

/// A job that is to be killed is scheduled for so long from now: no worker gets it meanwhile.
constexpr auto kUntilKilled = 24h;

}  // namespace

Outcome<std::vector<std::string>> ToFaktory::give(const std::vector<LeavingJob>& jobs, Time now,
                                                  WallClock wall) {
  std::vector<std::string> refusals(jobs.size());
  std::vector<std::size_t> sent;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!faktory::is_queue_name(jobs[i].queue)) {
      refusals[i] = "the name is none of a queue of Faktory";
    } else if (const auto text = push_of(jobs[i], now, wall); !text) {
      refusals[i] = "its JSON is broken";
    } else {
      peer_.send("PUSH " + *text);
      sent.push_back(i);
    }
  }
  std::vector<std::string> dead;
  for (const std::size_t i : sent) {
    const auto answer = peer_.line();
    if (!answer) return answer.error();
    if (answer->starts_with("-")) {
      refusals[i] = answer->substr(1);
    } else if (*answer != "+OK") {
      return peer_.odd(*answer);
    } else if (jobs[i].job->state == JobState::kDead) {
      dead.push_back(format_.identify(*jobs[i].job).jid);
    }
  }
  if (auto killed = kill(dead); !killed) return killed.error();
  return refusals;
}

std::optional<std::string> ToFaktory::push_of(const LeavingJob& leaving, Time now,
                                              WallClock wall) const {
  const Job& job = *leaving.job;
  std::string shown;
  format_.render(job, leaving.queue, wall, shown);
  switch (job.state) {
    case JobState::kReady:
    case JobState::kReserved:
      return pushed_text(shown, std::nullopt);
    case JobState::kScheduled:
    case JobState::kRetrying:
      return pushed_text(shown, job.wall_when(wall));
    case JobState::kDead:
      break;
  }
  return pushed_text(shown, wall.shown(now + kUntilKilled));
}

Outcome<Done> ToFaktory::kill(const std::vector<std::string>& jids) {
  if (jids.empty()) return Done{};
  std::string command = R"(MUTATE {"cmd":"kill","target":"scheduled","filter":{"jids":[)";
  for (std::size_t i = 0; i < jids.size(); ++i) {
    if (i > 0) command += ',';
    faktory::append_json_string(jids[i], command);
  }
  const auto answer = peer_.ask(command + "]}}");
  if (!answer) return answer.error();
  if (*answer != "+OK") return peer_.odd(*answer);
  return Done{};
}

Outcome<bool> ToFaktory::pause(std::string_view queue) {
  if (!faktory::is_queue_name(queue)) return false;
  const auto answer = peer_.ask("QUEUE PAUSE " + std::string(queue));
  if (!answer) return answer.error();
  if (*answer != "+OK") return peer_.odd(*answer);
  return true;
}

}  // namespace millrace::server
