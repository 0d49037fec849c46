#include "simulation/model/command.hpp"

#include <algorithm>

#include "faktory/json/timestamp.hpp"

namespace millrace::simulation {
namespace {

std::string line(std::initializer_list<std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text + "\r\n";
}

template <typename Number>
std::string text(Number number) {
  return std::to_string(number);
}

std::string quoted(const std::string& word) {
  return '"' + word + '"';
}

std::string render_job(const JobText& job) {
  std::string json = R"({"jid":)" + quoted(job.name) + R"(,"queue":)" + quoted(job.queue) +
                     R"(,"jobtype":"Simulated","args":[)" +
                     quoted(std::string(job.padding_bytes, 'x')) + R"(],"reserve_for":)" +
                     text(job.reserve_for_s) + R"(,"retry":)" + text(job.retry) +
                     R"(,"priority":)" + text(job.priority);
  if (job.at != Time{}) json += R"(,"at":)" + quoted(faktory::format_time(job.at));
  return json + "}";
}

std::string render_jobs(const std::vector<JobText>& jobs) {
  std::string json;
  for (const JobText& job : jobs) json += (json.empty() ? "" : ",") + render_job(job);
  return "[" + json + "]";
}

std::string render_mutate(const Command& command) {
  std::string json = R"({"cmd":)" + quoted(command.action) + R"(,"target":)" + quoted(command.set);
  std::string jids;
  for (const std::string& jid : command.jids) jids += (jids.empty() ? "" : ",") + quoted(jid);
  if (!jids.empty()) json += R"(,"filter":{"jids":[)" + jids + "]}";
  return json + "}";
}

/// What does not fit into a message is in a backtrace.
std::string render_fail(const Command& command) {
  constexpr std::size_t kMessageBytes = 900;
  constexpr std::size_t kLineBytes = 1000;
  std::size_t left = command.error_bytes;
  const auto take = [&](std::size_t bytes_max) {
    const std::size_t bytes = std::min(left, bytes_max);
    left -= bytes;
    return quoted(std::string(bytes, 'e'));
  };
  std::string json =
      R"({"jid":)" + quoted(command.name) + R"(,"errtype":"Boom","message":)" + take(kMessageBytes);
  std::string lines;
  while (left > 0) lines += (lines.empty() ? "" : ",") + take(kLineBytes);
  return json + R"(,"backtrace":[)" + lines + "]}";
}

std::string render_fetch(const Command& command) {
  std::string words = "FETCH";
  for (const std::string& queue : command.queues) words += " " + queue;
  return words + "\r\n";
}

std::string render_reserve(const Command& command) {
  if (command.seconds == UINT32_MAX) return "reserve\r\n";
  return line({"reserve-with-timeout", text(command.seconds)});
}

std::string render_beanstalk(const Command& command) {
  const std::string id = text(command.id);
  switch (command.verb) {
    case Verb::kPut:
      return line({"put", text(command.pri), text(command.seconds), text(command.ttr_s),
                   text(command.name.size())}) +
             command.name + "\r\n";
    case Verb::kReserve:
      return render_reserve(command);
    case Verb::kReserveJob:
      return line({"reserve-job", id});
    case Verb::kDelete:
      return line({"delete", id});
    case Verb::kRelease:
      return line({"release", id, text(command.pri), text(command.seconds)});
    case Verb::kBury:
      return line({"bury", id, text(command.pri)});
    case Verb::kTouch:
      return line({"touch", id});
    case Verb::kKick:
      return line({"kick", text(command.bound)});
    case Verb::kKickJob:
      return line({"kick-job", id});
    case Verb::kPeek:
      return line({"peek", id});
    case Verb::kUse:
      return line({"use", command.queue});
    case Verb::kWatch:
      return line({"watch", command.queue});
    case Verb::kIgnore:
      return line({"ignore", command.queue});
    case Verb::kPauseTube:
      return line({"pause-tube", command.queue, text(command.seconds)});
    case Verb::kStatsTube:
      return line({"stats-tube", command.queue});
    default:
      return "stats\r\n";
  }
}

}  // namespace

std::string render(const Command& command) {
  switch (command.verb) {
    case Verb::kPush:
      return line({"PUSH", render_job(command.jobs.front())});
    case Verb::kPushBulk:
      return line({"PUSHB", render_jobs(command.jobs)});
    case Verb::kFetch:
      return render_fetch(command);
    case Verb::kAck:
      return line({"ACK", R"({"jid":)" + quoted(command.name) + "}"});
    case Verb::kFail:
      return line({"FAIL", render_fail(command)});
    case Verb::kBeat:
      return line({"BEAT", R"({"wid":)" + quoted(command.name) + "}"});
    case Verb::kPauseQueue:
      return line({"QUEUE PAUSE", command.queue});
    case Verb::kResumeQueue:
      return line({"QUEUE RESUME", command.queue});
    case Verb::kRemoveQueue:
      return line({"QUEUE REMOVE", command.queue});
    case Verb::kMutate:
      return line({"MUTATE", render_mutate(command)});
    case Verb::kInfo:
      return "INFO\r\n";
    case Verb::kFlush:
      return "FLUSH\r\n";
    default:
      return render_beanstalk(command);
  }
}

}  // namespace millrace::simulation
