#include "faktory/session/command.hpp"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "core/model/queue.hpp"
#include "core/model/types.hpp"
#include "faktory/job/failed_run.hpp"
#include "faktory/json/object_reader.hpp"
#include "faktory/json/report_extract.hpp"
#include "faktory/json/text.hpp"
#include "faktory/json/timestamp.hpp"
#include "faktory/session/parse_mutate.hpp"
#include "faktory/session/parse_track.hpp"

namespace millrace::faktory {
namespace {

using Reason = Refused::Reason;
using Parsed = Result<Command, Refused>;

constexpr std::int64_t kVersionMax = 255;

/// The words between spaces. Reads one more than may be named, so that the caller sees the excess.
std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  while (!text.empty() && found.size() <= kNamedQueuesMax) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) found.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

Parsed parse_push(std::string_view argument) {
  return Command{Push{argument}};
}

Parsed parse_push_bulk(std::string_view argument) {
  return Command{PushBulk{argument}};
}

Parsed parse_fetch(std::string_view argument) {
  const std::vector<std::string_view> names = words(argument);
  if (names.size() > kNamedQueuesMax) return Refused{Reason::kTooManyQueues, {}};
  Fetch fetch;
  if (names.empty()) fetch.queues.emplace_back(kDefaultQueue);
  absl::flat_hash_set<std::string_view> seen;
  for (const std::string_view name : names) {
    // Tubes may have other names, but FWP has no way to name them.
    if (!is_queue_name(name) || name.size() > kQueueNameBytesMax) continue;
    // A queue is asked once: repeated names would only cost steps.
    if (seen.insert(name).second) fetch.queues.push_back(name);
  }
  return Command{std::move(fetch)};
}

/// The jid of an ACK as nearly all clients send it: one member, whose text is plain ASCII and means
/// what it says. nullopt: it must be read. To read it costs more than all the rest of an ACK.
std::optional<std::string_view> plain_jid(std::string_view argument) {
  constexpr std::string_view kEnd = R"("})";
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
  for (const std::string_view start : {R"({"jid":")", R"({"jid": ")"}) {
    if (!argument.starts_with(start) || !argument.ends_with(kEnd)) continue;
    if (argument.size() < start.size() + kEnd.size()) continue;
    const std::string_view jid =
        argument.substr(start.size(), argument.size() - start.size() - kEnd.size());
    if (std::all_of(jid.begin(), jid.end(), is_plain)) return jid;
  }
  return std::nullopt;
}

/// The reference reads an ACK into a map of strings. So names are case-sensitive, every member must
/// be a string, and null is an empty one.
Parsed parse_ack(std::string_view argument) {
  if (const auto jid = plain_jid(argument)) return Command{Ack{.jid = std::string(*jid)}};
  Ack ack;
  bool has_jid = false;
  const ObjectShape shape =
      read_object(argument, [&](std::string_view name, const MemberValue& value) {
        std::string text;
        if (!take_text(value, text)) return false;
        if (name != "jid") return true;
        has_jid = true;
        ack.jid = std::move(text);
        return true;
      });
  if (shape != ObjectShape::kObject || !has_jid) return Refused{Reason::kInvalidAck, argument};
  return Command{std::move(ack)};
}

Parsed parse_fail(std::string_view argument) {
  Fail fail;
  const ObjectShape shape =
      read_object(argument, [&](std::string_view name, const MemberValue& value) {
        const auto is = [&](std::string_view lower) { return equals_ignoring_case(name, lower); };
        if (is("jid")) return take_text(value, fail.jid);
        if (is("errtype")) return take_text(value, fail.run.errtype);
        if (is("message")) return take_text(value, fail.run.message);
        if (is("backtrace")) return take_strings(value, fail.run.backtrace);
        return true;
      });
  if (shape == ObjectShape::kMalformed) return Refused{Reason::kInvalidFail, argument};
  // Other members may be missing: the run has failed anyway.
  if (fail.jid.empty()) return Refused{Reason::kMissingJid, {}};
  return Command{std::move(fail)};
}

Worker::State state_of(std::string_view text) {
  if (text == "quiet") return Worker::State::kQuiet;
  if (text == "terminate") return Worker::State::kTerminate;
  return Worker::State::kRunning;
}

Parsed parse_beat(std::string_view argument) {
  Beat beat;
  std::string asked;
  const ObjectShape shape =
      read_object(argument, [&](std::string_view name, const MemberValue& value) {
        const auto is = [&](std::string_view lower) { return equals_ignoring_case(name, lower); };
        if (is("wid")) return take_text(value, beat.wid);
        if (is("current_state")) return take_text(value, asked);
        if (is("rss_kb")) return take_integer(value, beat.rss_kb);
        return true;
      });
  if (shape == ObjectShape::kMalformed) return Refused{Reason::kInvalidBeat, argument};
  beat.asked = state_of(asked);
  return Command{std::move(beat)};
}

/// The names after a subcommand, and whether the first is the wildcard.
struct QueueNames {
  std::vector<std::string_view> names;
  bool is_all = false;
};

Command pause_queues(QueueNames&& queues) {
  return PauseQueues{.action = PauseQueues::Action::kPause,
                     .is_all = queues.is_all,
                     .names = std::move(queues.names)};
}

Command resume_queues(QueueNames&& queues) {
  return PauseQueues{.action = PauseQueues::Action::kResume,
                     .is_all = queues.is_all,
                     .names = std::move(queues.names)};
}

Command remove_queues(QueueNames&& queues) {
  return RemoveQueues{.is_all = queues.is_all, .names = std::move(queues.names)};
}

Command queue_latency(QueueNames&& queues) {
  return QueueLatency{.names = std::move(queues.names)};
}

struct QueueRow {
  std::string_view subcommand;
  bool needs_names;
  bool takes_wildcard;
  Command (*make)(QueueNames&& queues);
};

constexpr std::array kQueueRows = {
    QueueRow{"pause", true, true, pause_queues},
    QueueRow{"resume", true, true, resume_queues},
    QueueRow{"remove", true, true, remove_queues},
    QueueRow{"latency", false, false, queue_latency},
};

Parsed parse_queue(std::string_view argument) {
  const std::size_t end = std::min(argument.find(' '), argument.size());
  const std::string_view subcommand = argument.substr(0, end);
  const auto row =
      std::find_if(kQueueRows.begin(), kQueueRows.end(), [&](const QueueRow& candidate) {
        return equals_ignoring_case(subcommand, candidate.subcommand);
      });
  if (row == kQueueRows.end()) return Refused{Reason::kUnknownSubcommand, subcommand};
  if (end == argument.size() && row->needs_names) return Refused{Reason::kNoArgument, {}};
  QueueNames queues{.names = words(argument.substr(std::min(end + 1, argument.size())))};
  if (queues.names.size() > kNamedQueuesMax) return Refused{Reason::kTooManyQueues, {}};
  queues.is_all = !queues.names.empty() && queues.names.front() == "*";
  const bool is_only_wildcard = queues.is_all && queues.names.size() == 1;
  // With other names after it, `*` is a name, which no queue has.
  if (is_only_wildcard && !row->takes_wildcard) return Refused{Reason::kLatencyOfAll, {}};
  return row->make(std::move(queues));
}

template <UseBatch::Action kAction>
Command use_batch(std::string_view bid) {
  return UseBatch{.action = kAction, .bid = trimmed(bid)};
}

Command new_batch(std::string_view json) {
  return NewBatch{.json = json};
}

struct BatchRow {
  std::string_view subcommand;
  Command (*make)(std::string_view argument);
};

constexpr std::array kBatchRows = {
    BatchRow{"new", new_batch},
    BatchRow{"open", use_batch<UseBatch::Action::kOpen>},
    BatchRow{"commit", use_batch<UseBatch::Action::kCommit>},
    BatchRow{"status", use_batch<UseBatch::Action::kStatus>},
};

Parsed parse_batch(std::string_view argument) {
  const std::size_t end = std::min(argument.find(' '), argument.size());
  const std::string_view subcommand = argument.substr(0, end);
  for (const BatchRow& row : kBatchRows) {
    if (!equals_ignoring_case(subcommand, row.subcommand)) continue;
    return row.make(argument.substr(std::min(end + 1, argument.size())));
  }
  return Refused{Reason::kUnknownBatchCommand, subcommand};
}

Parsed parse_mutation(std::string_view argument) {
  Result<Mutate, Refused> mutate = parse_mutate(argument);
  if (!mutate) return mutate.error();
  return Command{std::move(*mutate)};
}

template <typename Simple>
Parsed parse_simple(std::string_view) {
  return Command{Simple{}};
}

/// Lines that bring jobs: the limit is the operator's.
constexpr std::size_t kAnyLength = SIZE_MAX;

/// Lines with an object that `extract_report` reads where they are not short.
constexpr std::size_t kReport = kReportBytesMax;
/// As many names as a line may have, each with its blank.
constexpr std::size_t kNamesLineBytesMax =
    kNamedQueuesMax * (kQueueNameBytesMax + 1) + kShortLineBytes;
/// As many jids as a MUTATE may have, of 50 bytes: a UUID has 36.
constexpr std::size_t kMutateLineBytesMax = 512 * 1024;

/// Two callbacks with long arguments. They are read in place.
constexpr std::size_t kBatchLineBytesMax = 256 * 1024;

/// A verb, whether it needs an argument, how the argument is read, how long the line may be, and up
/// to which length it is read in place.
struct Row {
  std::string_view verb;
  bool needs_argument;
  Parsed (*parse)(std::string_view argument);
  std::size_t line_bytes_max = kShortLineBytes;
  std::size_t in_place_bytes_max = SIZE_MAX;
};

constexpr std::array kRows = {
    Row{"PUSH", true, parse_push, kAnyLength, kLongLineBytes},
    Row{"PUSHB", true, parse_push_bulk, kAnyLength, kInPlaceBytes},
    Row{"FETCH", false, parse_fetch, kNamesLineBytesMax},
    Row{"ACK", true, parse_ack, kReport, kShortLineBytes},
    Row{"FAIL", true, parse_fail, kReport, kShortLineBytes},
    Row{"BEAT", true, parse_beat, kReport, kShortLineBytes},
    Row{"INFO", false, parse_simple<Info>},
    Row{"FLUSH", false, parse_simple<Flush>},
    Row{"QUEUE", true, parse_queue, kNamesLineBytesMax},
    Row{"MUTATE", false, parse_mutation, kMutateLineBytesMax, kShortLineBytes},
    Row{"TRACK", false, parse_track, kReport, kShortLineBytes},
    Row{"BATCH", false, parse_batch, kBatchLineBytesMax},
    Row{"END", false, parse_simple<End>},
};

/// Null: there is no such verb. They are case-sensitive, subcommands are not, as in the reference.
const Row* row_of_verb(std::string_view verb) {
  const auto row = std::find_if(kRows.begin(), kRows.end(),
                                [&](const Row& candidate) { return candidate.verb == verb; });
  return row == kRows.end() ? nullptr : &*row;
}

const Row* row_of_line(std::string_view line) {
  return row_of_verb(line.substr(0, std::min(line.find(' '), line.size())));
}

/// Takes one member of HELLO. False: the handshake fails.
bool take_hello_member(std::string_view name, const MemberValue& value, Hello& hello) {
  const auto is = [&](std::string_view lower) { return equals_ignoring_case(name, lower); };
  std::string text;
  std::int64_t ignored = 0;
  if (is("v")) {
    return take_integer(value, hello.version) && hello.version >= 0 && hello.version <= kVersionMax;
  }
  if (is("pwdhash")) return take_text(value, hello.password_hash);
  if (is("wid")) return take_text(value, hello.worker.wid);
  if (is("hostname")) return take_text(value, hello.worker.hostname);
  if (is("pid")) return take_integer(value, hello.worker.pid);
  if (is("labels")) return take_strings(value, hello.worker.labels);
  // Members that we do not use must have the right type all the same.
  if (is("username")) return take_text(value, text);
  if (is("rss_kb")) return take_integer(value, ignored);
  if (!is("startedat") || value.kind == MemberValue::Kind::kNull) return true;
  return take_text(value, text) && parse_time(text).has_value();
}

}  // namespace

std::size_t in_place_bytes_max(std::string_view line) {
  const Row* const row = row_of_line(line);
  return row == nullptr ? SIZE_MAX : row->in_place_bytes_max;
}

LineBuffer::Limit line_limit(std::string_view beginning) {
  const Row* const row = row_of_line(beginning);
  if (row == nullptr) return {.bytes_max = kShortLineBytes};
  if (row->line_bytes_max != kReport) return {.bytes_max = row->line_bytes_max};
  if (beginning.find('{') == std::string_view::npos) return {.bytes_max = kShortLineBytes};
  return {.bytes_max = kReportBytesMax, .is_report = true};
}

namespace {

Parsed parse_whole(std::string_view line) {
  // Exactly one space: what follows it belongs to the argument.
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view verb = line.substr(0, end);
  const Row* const row = row_of_verb(verb);
  if (row == nullptr) return Refused{Reason::kUnknownVerb, verb};
  if (end < line.size()) return row->parse(line.substr(end + 1));
  if (row->needs_argument) return Refused{Reason::kNoArgument, {}};
  return row->parse({});
}

/// These are refused for what the server does not need of them, such as deep nesting in a member
/// that it does not know. An ACK is refused for such a member, as in the reference.
bool may_be_extracted(Reason reason) {
  return reason == Reason::kInvalidFail || reason == Reason::kInvalidBeat ||
         reason == Reason::kInvalidTrack;
}

}  // namespace

Parsed parse_command(std::string_view line) {
  Parsed whole = parse_whole(line);
  if (whole || !may_be_extracted(whole.error().reason)) return whole;
  const std::optional<std::string> extract = extract_report(line);
  if (!extract) return whole;
  // These commands have no views in them.
  Parsed parsed = parse_whole(*extract);
  return parsed ? std::move(parsed) : std::move(whole);
}

Parsed parse_long_command(std::string& line) {
  if (line.size() <= kShortLineBytes || !line_limit(line).is_report) return parse_command(line);
  if (std::optional<std::string> extract = extract_report(line)) line = std::move(*extract);
  return parse_whole(line);
}

std::vector<std::string_view> verbs() {
  std::vector<std::string_view> all;
  for (const Row& row : kRows) all.push_back(row.verb);
  return all;
}

std::optional<Hello> parse_hello(std::string_view line) {
  constexpr std::string_view kVerb = "HELLO ";
  // The reference compares exactly this.
  if (!line.starts_with("HELLO {")) return std::nullopt;
  Hello hello;
  const ObjectShape shape =
      read_object(line.substr(kVerb.size()), [&](std::string_view name, const MemberValue& value) {
        return take_hello_member(name, value, hello);
      });
  if (shape != ObjectShape::kObject || hello.worker.wid.size() > kWidBytesMax) return std::nullopt;
  return hello;
}

}  // namespace millrace::faktory
