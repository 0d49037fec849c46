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

std::string seconds_text(Duration duration) {
  constexpr double kSecond = 1e9;
  return text(static_cast<double>(duration.count()) / kSecond);
}

/// The arguments of unique jobs mean the same however they are written.
std::string render_args(const JobText& job) {
  const int unique = job.wishes.unique;
  if (unique == 0) return '[' + quoted(std::string(job.padding_bytes, 'x')) + ']';
  const bool is_plain = job.padding_bytes % 2 == 0;
  return '[' + text(unique) + (is_plain ? R"(,{"a":1,"b":2}])" : R"(.0, {"b":2,"a":1e0}])");
}

std::string render_custom(const JobText& job) {
  const JobWishes& wishes = job.wishes;
  std::string json;
  const auto add = [&](const std::string& name, const std::string& value) {
    json += (json.empty() ? "" : ",") + quoted(name) + ":" + value;
  };
  if (wishes.unique_for != Duration{}) add("unique_for", seconds_text(wishes.unique_for));
  if (wishes.until_start) add("unique_until", quoted("start"));
  if (!wishes.conflict.empty()) add("unique_conflict", quoted(wishes.conflict));
  if (wishes.expires_in != Duration{}) add("expires_in", seconds_text(wishes.expires_in));
  if (wishes.expires_at != Time{})
    add("expires_at", quoted(faktory::format_time(wishes.expires_at)));
  if (wishes.is_tracked) add("track", "1");
  if (!wishes.key.empty()) add("throttle_key", quoted(wishes.key));
  if (!job.bid.empty()) add("bid", quoted(job.bid));
  return json.empty() ? "" : R"(,"custom":{)" + json + "}";
}

std::string render_job(const JobText& job) {
  std::string json = R"({"jid":)" + quoted(job.name) + R"(,"queue":)" + quoted(job.queue) +
                     R"(,"jobtype":)" + quoted(job.type) + R"(,"args":)" + render_args(job) +
                     R"(,"reserve_for":)" + text(job.reserve_for_s) + R"(,"retry":)" +
                     text(job.retry) + R"(,"priority":)" + text(job.priority) + render_custom(job);
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
  if (command.action == "move") json += R"(,"to":)" + quoted(command.to);
  std::string jids;
  for (const std::string& jid : command.jids) jids += (jids.empty() ? "" : ",") + quoted(jid);
  if (!jids.empty()) json += R"(,"filter":{"jids":[)" + jids + "]}";
  return json + "}";
}

constexpr std::size_t kMessageBytes = 900;

/// What does not fit into a message is in a backtrace.
std::string render_fail(const Command& command) {
  constexpr std::size_t kLineBytes = 1000;
  std::size_t left = command.error_bytes;
  const auto take = [&](std::size_t bytes_max) {
    const std::size_t bytes = std::min(left, bytes_max);
    left -= bytes;
    return quoted(std::string(bytes, 'e'));
  };
  const char* const errtype = command.gives_back() ? "worker.MillraceRelease" : "Boom";
  std::string json = R"({"jid":)" + quoted(command.name) + R"(,"errtype":)" + quoted(errtype) +
                     R"(,"message":)" + take(kMessageBytes);
  std::string lines;
  while (left > 0) lines += (lines.empty() ? "" : ",") + take(kLineBytes);
  return json + R"(,"backtrace":[)" + lines + "]}";
}

std::string render_track(const Command& command) {
  std::string json = R"({"jid":)" + quoted(command.name);
  if (command.percent) json += R"(,"percent":)" + text(*command.percent);
  if (command.desc) json += R"(,"desc":)" + quoted(*command.desc);
  if (command.reserve_until != Time{}) {
    json += R"(,"reserve_until":)" + quoted(faktory::format_time(command.reserve_until));
  }
  return json + "}";
}

std::string render_new_batch(const Command& command) {
  std::string json = R"({"description":"simulated")";
  if (!command.name.empty()) json += R"(,"parent_bid":)" + quoted(command.name);
  for (const JobText& job : command.jobs)
    json += "," + quoted(job.wishes.role) + ":" + render_job(job);
  return json + "}";
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

std::string message_of(const Command& command) {
  // One that says nothing is given that text.
  if (command.error_bytes == 0) return "unknown";
  return std::string(std::min(command.error_bytes, kMessageBytes), 'e');
}

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
    case Verb::kTrackSet:
      return line({"TRACK SET", render_track(command)});
    case Verb::kTrackGet:
      return line({"TRACK GET", command.name});
    case Verb::kBatchNew:
      return line({"BATCH NEW", render_new_batch(command)});
    case Verb::kBatchOpen:
      return line({"BATCH OPEN", command.name});
    case Verb::kBatchCommit:
      return line({"BATCH COMMIT", command.name});
    case Verb::kBatchStatus:
      return line({"BATCH STATUS", command.name});
    default:
      return render_beanstalk(command);
  }
}

}  // namespace millrace::simulation
