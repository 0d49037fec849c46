#include "faktory/session/reply.hpp"

#include <utility>

#include "base/text.hpp"
#include "faktory/job/read_features.hpp"
#include "faktory/json/text.hpp"
#include "faktory/json/timestamp.hpp"

namespace millrace::faktory::reply {

void hi(std::string& out, const std::optional<Challenge>& challenge) {
  out += R"(+HI {"v":2)";
  if (challenge) {
    out += R"(,"i":)" + std::to_string(challenge->iterations);
    out += R"(,"s":")" + challenge->salt + '"';
  }
  out += "}\r\n";
}

void ok(std::string& out) {
  out += "+OK\r\n";
}

void bulk(std::string& out, std::string_view bytes) {
  out += '$';
  out += std::to_string(bytes.size());
  out += "\r\n";
  out += bytes;
  out += "\r\n";
}

LongText long_bulk(LongText&& bytes) {
  LongText reply;
  reply.add("$" + std::to_string(bytes.size()) + "\r\n");
  reply.add(std::move(bytes));
  reply.add("\r\n");
  return reply;
}

void nil(std::string& out) {
  out += "$-1\r\n";
}

void worker_state(std::string& out, Worker::State state) {
  switch (state) {
    case Worker::State::kRunning:
      return ok(out);
    case Worker::State::kQuiet:
      return bulk(out, R"({"state":"quiet"})");
    case Worker::State::kTerminate:
      return bulk(out, R"({"state":"terminate"})");
  }
}

namespace {

std::string_view name_of(TrackState state) {
  switch (state) {
    case TrackState::kUnknown:
      return "unknown";
    case TrackState::kEnqueued:
      return "enqueued";
    case TrackState::kWorking:
      return "working";
    case TrackState::kSuccess:
      return "success";
    case TrackState::kFailed:
      return "failed";
    case TrackState::kDead:
      return "dead";
  }
  return {};
}

}  // namespace

void track(std::string& out, std::string_view jid, const TrackView& track, WallClock clock) {
  std::string json = R"({"jid":)";
  append_json_string(jid, json);
  if (track.percent != kNoPercent) json += R"(,"percent":)" + std::to_string(track.percent);
  if (!track.desc.empty()) {
    json += R"(,"desc":)";
    append_json_string(track.desc, json);
  }
  json += R"(,"state":")";
  json += name_of(track.state);
  json += R"(","updated_at":")";
  if (track.updated_at != Time{}) append_time(clock.shown(track.updated_at), json);
  json += R"("})";
  bulk(out, json);
}

void error(std::string& out, std::string_view text) {
  out += "-ERR ";
  // A line end in a text from outside would begin a reply of its own.
  out += one_line(text);
  out += "\r\n";
}

void refused_job(std::string& out, const RefusedJob& refused) {
  // Its code stands in the place of ERR.
  if (refused.reason != RefusedJob::Reason::kNotUnique) return error(out, refusal(refused));
  out += '-' + one_line(refusal(refused)) + "\r\n";
}

std::string refusal(const Refused& refused) {
  // A refused line may be megabytes long. Its beginning tells enough.
  const std::string text(refused.text.substr(0, kEchoBytesMax));
  switch (refused.reason) {
    case Refused::Reason::kUnknownVerb:
      return "unknown command " + text;
    case Refused::Reason::kNoArgument:
      // The words of the reference, which fails on a missing argument.
      return "internal error";
    case Refused::Reason::kInvalidAck:
      return "invalid ACK " + text;
    case Refused::Reason::kInvalidFail:
      return "invalid FAIL " + text;
    case Refused::Reason::kMissingJid:
      return "missing JID";
    case Refused::Reason::kInvalidBeat:
      return "invalid BEAT " + text;
    case Refused::Reason::kUnknownSubcommand:
      return "no such QUEUE subcommand: " + upper_case(text);
    case Refused::Reason::kUnknownBatchCommand:
      return "no such BATCH subcommand: " + upper_case(text);
    case Refused::Reason::kTooManyQueues:
      return "more than " + std::to_string(kNamedQueuesMax) + " queue names";
    case Refused::Reason::kLatencyOfAll:
      return "QUEUE LATENCY does not support wildcards";
    case Refused::Reason::kInvalidMutateFormat:
      return "invalid format";
    case Refused::Reason::kInvalidMutateJson:
      return "invalid JSON";
    case Refused::Reason::kUnknownMutation:
      return "unknown mutate operation";
    case Refused::Reason::kInvalidTarget:
      return "invalid target for mutation command";
    case Refused::Reason::kInvalidMoveQueue:
      return "move: 'to' must be a queue name that PUSH accepts";
    case Refused::Reason::kGlobTooLong:
      return "filters cannot be longer than " + std::to_string(kGlobBytesMax) + " bytes";
    case Refused::Reason::kTooManyJids:
      return "more than " + std::to_string(kMutateJidsMax) + " jids";
    case Refused::Reason::kUnknownTrackSubcommand:
      return "no such TRACK subcommand: " + upper_case(text);
    case Refused::Reason::kInvalidTrack:
      return "invalid TRACK SET " + text;
    case Refused::Reason::kInvalidPercent:
      return "invalid percent: " + text;
    case Refused::Reason::kInvalidReserveUntil:
      return "invalid timestamp for 'reserve_until'";
    case Refused::Reason::kJidTooLong:
      return "jids cannot be longer than " + std::to_string(kJidBytesMax) + " bytes";
  }
  return {};
}

std::string refusal(const RefusedJob& refused) {
  switch (refused.reason) {
    case RefusedJob::Reason::kInvalidJson:
      return "invalid JSON: " + refused.detail;
    case RefusedJob::Reason::kJidTooShort:
      return "jobs must have a reasonable jid parameter";
    case RefusedJob::Reason::kJidTooLong:
      return "jids cannot be longer than " + std::to_string(kJidBytesMax) + " bytes";
    case RefusedJob::Reason::kNoJobtype:
      return "jobs must have a jobtype parameter";
    case RefusedJob::Reason::kNoArgs:
      return "jobs must have an args parameter";
    case RefusedJob::Reason::kReservedTooLong:
      return "jobs cannot be reserved for more than one day";
    case RefusedJob::Reason::kInvalidAt:
      return "invalid timestamp for 'at': \"" + refused.detail + "\": not an RFC 3339 time";
    case RefusedJob::Reason::kInvalidQueueName:
      return "cannot get \"" + refused.detail +
             "\" queue: queue names must match \\A[a-zA-Z0-9._-]+\\z";
    case RefusedJob::Reason::kQueueNameTooLong:
      return "queue names cannot be longer than " + std::to_string(kQueueNameBytesMax) + " bytes";
    case RefusedJob::Reason::kInvalidUniqueFor:
    case RefusedJob::Reason::kInvalidUniqueUntil:
    case RefusedJob::Reason::kInvalidUniqueConflict:
    case RefusedJob::Reason::kInvalidExpiresIn:
    case RefusedJob::Reason::kInvalidTrack:
    case RefusedJob::Reason::kInvalidThrottleKey:
      return "invalid " + std::string(refused.member().name) + ": " + refused.detail;
    case RefusedJob::Reason::kInvalidRetryDelays:
      return "invalid retry_delays: " + refused.detail +
             ": must be a list of 1 to 100 delays, each from 1s to 365d in whole seconds";
    case RefusedJob::Reason::kUniqueArgsTooLong:
      return "args of a unique job cannot be longer than " + std::to_string(kUniqueArgsBytesMax) +
             " bytes";
    case RefusedJob::Reason::kThrottleKeyTooLong:
      return "throttle_key cannot be longer than " + std::to_string(kThrottleKeyBytesMax) +
             " bytes";
    case RefusedJob::Reason::kInvalidExpiresAt:
      return "invalid timestamp for 'expires_at': \"" + refused.detail + '"';
    case RefusedJob::Reason::kNoSuchBatch:
      return no_such_batch(refused.detail);
    case RefusedJob::Reason::kNoCallback:
      return "batches must have a success or complete callback";
    case RefusedJob::Reason::kCallbackInBatch:
      return "callbacks cannot belong to a batch";
    case RefusedJob::Reason::kNotUnique:
      return "NOTUNIQUE Job not unique" + (refused.detail.empty() ? "" : ' ' + refused.detail);
    case RefusedJob::Reason::kNotAllowed:
      return refused.detail;
    case RefusedJob::Reason::kNoRoom:
      return "server is out of space: no jobs are taken until some have ended";
  }
  return {};
}

std::string not_allowed(std::string_view user, access::Right lacking, std::string_view of) {
  std::string text =
      "NOPERM " + std::string(user) + " needs the right " + std::string(name_of(lacking));
  return of.empty() ? text : text.append(" for ").append(of);
}

std::string job_not_found(std::string_view jid) {
  return "Job not found " + std::string(jid);
}

std::string no_such_batch(std::string_view bid) {
  // With a capital letter: libraries compare these words.
  return "No such batch " + std::string(bid);
}

std::string unknown_worker(std::string_view wid) {
  return "unknown worker " + std::string(wid);
}

std::string too_many_connections(std::uint64_t count) {
  return "too many connections: " + std::to_string(count);
}

std::string line_too_long(std::size_t line_bytes_max) {
  return "line is longer than " + std::to_string(line_bytes_max) + " bytes";
}

}  // namespace millrace::faktory::reply
