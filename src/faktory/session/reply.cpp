#include "faktory/session/reply.hpp"

#include "base/text.hpp"
#include "faktory/json/text.hpp"

namespace millrace::faktory {

void append_hi(const std::optional<Challenge>& challenge, std::string& out) {
  out += R"(+HI {"v":2)";
  if (challenge) {
    out += R"(,"i":)" + std::to_string(challenge->iterations);
    out += R"(,"s":")" + challenge->salt + '"';
  }
  out += "}\r\n";
}

void append_ok(std::string& out) {
  out += "+OK\r\n";
}

void append_bulk(std::string_view bytes, std::string& out) {
  out += '$';
  out += std::to_string(bytes.size());
  out += "\r\n";
  out += bytes;
  out += "\r\n";
}

void append_nil(std::string& out) {
  out += "$-1\r\n";
}

void append_state(Worker::State state, std::string& out) {
  switch (state) {
    case Worker::State::kRunning:
      return append_ok(out);
    case Worker::State::kQuiet:
      return append_bulk(R"({"state":"quiet"})", out);
    case Worker::State::kTerminate:
      return append_bulk(R"({"state":"terminate"})", out);
  }
}

void append_error(std::string_view text, std::string& out) {
  out += "-ERR ";
  out += one_line(text);
  out += "\r\n";
}

std::string fault_text(const CommandFault& fault) {
  const std::string text(fault.text.substr(0, kEchoBytesMax));
  switch (fault.kind) {
    case CommandFault::Kind::kUnknownVerb:
      return "unknown command " + text;
    case CommandFault::Kind::kNoArgument:
      return "internal error";
    case CommandFault::Kind::kInvalidAck:
      return "invalid ACK " + text;
    case CommandFault::Kind::kInvalidFail:
      return "invalid FAIL " + text;
    case CommandFault::Kind::kMissingJid:
      return "missing JID";
    case CommandFault::Kind::kInvalidBeat:
      return "invalid BEAT " + text;
    case CommandFault::Kind::kUnknownSubcommand:
      return "no such QUEUE subcommand: " + upper_case(text);
    case CommandFault::Kind::kTooManyQueues:
      return "more than " + std::to_string(kNamedQueuesMax) + " queue names";
    case CommandFault::Kind::kLatencyOfAll:
      return "QUEUE LATENCY does not support wildcards";
    case CommandFault::Kind::kInvalidMutateFormat:
      return "invalid format";
    case CommandFault::Kind::kInvalidMutateJson:
      return "invalid JSON";
    case CommandFault::Kind::kUnknownMutation:
      return "unknown mutate operation";
    case CommandFault::Kind::kInvalidTarget:
      return "invalid target for mutation command";
    case CommandFault::Kind::kGlobTooLong:
      return "filters cannot be longer than " + std::to_string(kGlobBytesMax) + " bytes";
  }
  return {};
}

std::string fault_text(const JobFault& fault) {
  switch (fault.kind) {
    case JobFault::Kind::kInvalidJson:
      return "invalid JSON: " + fault.detail;
    case JobFault::Kind::kJidTooShort:
      return "jobs must have a reasonable jid parameter";
    case JobFault::Kind::kJidTooLong:
      return "jids cannot be longer than " + std::to_string(kJidBytesMax) + " bytes";
    case JobFault::Kind::kNoJobtype:
      return "jobs must have a jobtype parameter";
    case JobFault::Kind::kNoArgs:
      return "jobs must have an args parameter";
    case JobFault::Kind::kReservedTooLong:
      return "jobs cannot be reserved for more than one day";
    case JobFault::Kind::kInvalidAt:
      return "invalid timestamp for 'at': \"" + fault.detail + "\": not an RFC 3339 time";
    case JobFault::Kind::kInvalidQueueName:
      return "cannot get \"" + fault.detail +
             "\" queue: queue names must match \\A[a-zA-Z0-9._-]+\\z";
    case JobFault::Kind::kQueueNameTooLong:
      return "queue names cannot be longer than " + std::to_string(kQueueNameBytesMax) + " bytes";
    case JobFault::Kind::kNoRoom:
      return "server is out of space: no jobs are taken until some have ended";
  }
  return {};
}

std::string job_not_found(std::string_view jid) {
  return "Job not found " + std::string(jid);
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

}  // namespace millrace::faktory
