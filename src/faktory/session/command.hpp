#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "core/broker/broker.hpp"
#include "core/model/worker.hpp"
#include "faktory/job/mutate_filter.hpp"
#include "faktory/session/line_buffer.hpp"

/// The commands of the Faktory protocol as values, and the pure function that reads them from
/// lines; and HELLO, which is the handshake. Views in them point into the parsed line.
namespace millrace::faktory {

/// `HELLO {"v":2,"wid":..,"hostname":..,"pid":..,"labels":[..],"pwdhash":..}`
struct Hello {
  std::int64_t version = 0;  ///< 0 to 255
  std::string password_hash;
  WorkerHello worker;  ///< without a wid: a producer
};

/// `PUSH {job}`
struct Push {
  std::string_view json;
};

/// `PUSHB [{job},...]`
struct PushBulk {
  std::string_view json;
};

/// `FETCH [queue ...]`; without a name: `default`. No name is there twice.
struct Fetch {
  std::vector<std::string_view> queues;
};

/// `ACK {"jid":".."}`
struct Ack {
  std::string jid;
};

/// `FAIL {"jid":"..","errtype":"..","message":"..","backtrace":["..",..]}`
struct Fail {
  std::string jid;
  FailedRun run;
};

/// `BEAT {"wid":"..","current_state":"quiet","rss_kb":1}`
struct Beat {
  std::string wid;
  Worker::State asked = Worker::State::kRunning;
  std::int64_t rss_kb = 0;
};

/// `INFO`
struct Info {};

/// `FLUSH`
struct Flush {};

/// `QUEUE PAUSE name ...`, `QUEUE RESUME *`
struct PauseQueues {
  enum class Action { kPause, kResume };
  Action action = Action::kPause;
  bool is_all = false;
  std::vector<std::string_view> names;
};

/// `QUEUE REMOVE name ...`, `QUEUE REMOVE *`
struct RemoveQueues {
  bool is_all = false;
  std::vector<std::string_view> names;
};

/// `QUEUE LATENCY name ...`
struct QueueLatency {
  std::vector<std::string_view> names;
};

/// `MUTATE {"cmd":"kill","target":"retries","filter":{"jids":[..],"regexp":"..","jobtype":".."}}`.
/// Ours alone is `"cmd":"move"`, which has `"to":"queue"`.
struct Mutate {
  JobState set = JobState::kDead;
  Mutation::Action action = Mutation::Action::kDiscard;
  std::string to = {};  ///< a queue's name
  MutateFilter filter;
};

/// `TRACK GET jid`
struct TrackGet {
  std::string_view jid;  ///< at most `kJidBytesMax`
};

/// `TRACK SET {"jid":"..","percent":12,"desc":"..","reserve_until":"2026-11-23T10:00:00Z"}`. What
/// is absent or null keeps its value.
struct TrackSet {
  std::string jid;  ///< at most `kJidBytesMax`
  std::optional<std::uint8_t> percent;
  std::optional<std::string> desc;
  std::optional<Time> reserve_until;
};

/// `BATCH NEW {"success":{job},"complete":{job},"description":"..","parent_bid":".."}`
struct NewBatch {
  std::string_view json;
};

/// `BATCH OPEN bid`, `BATCH COMMIT bid`, `BATCH STATUS bid`
struct UseBatch {
  enum class Action { kOpen, kCommit, kStatus };
  Action action = Action::kOpen;
  std::string_view bid;
};

/// `END`
struct End {};

using Command =
    std::variant<Push, PushBulk, Fetch, Ack, Fail, Beat, Info, Flush, PauseQueues, RemoveQueues,
                 QueueLatency, Mutate, TrackGet, TrackSet, NewBatch, UseBatch, End>;

/// Why a line is no command. `reply::refusal` has the words; `text` is what they quote.
struct Refused {
  enum class Reason {
    kUnknownVerb,
    kNoArgument,
    kInvalidAck,
    kInvalidFail,
    kMissingJid,
    kInvalidBeat,
    kUnknownSubcommand,
    kUnknownBatchCommand,
    kTooManyQueues,
    kLatencyOfAll,
    kInvalidMutateFormat,
    kInvalidMutateJson,
    kUnknownMutation,
    kInvalidTarget,
    kInvalidMoveQueue,
    kGlobTooLong,
    kTooManyJids,
    kUnknownTrackSubcommand,
    kInvalidTrack,
    kInvalidPercent,
    kInvalidReserveUntil,
    kJidTooLong,
  };
  Reason reason;
  std::string_view text;
};

/// How many queues a line may name.
inline constexpr std::size_t kNamedQueuesMax = 1024;

/// How many jids a MUTATE may name.
inline constexpr std::size_t kMutateJidsMax = 10'000;

/// How long a line may be that begins so, without its line end. Lines that bring jobs may be long,
/// and what a worker reports of one. At least `kShortLineBytes`.
[[nodiscard]] LineBuffer::Limit line_limit(std::string_view beginning);
inline constexpr std::size_t kShortLineBytes = 64 * 1024;

/// A line with this verb that is longer takes others' time: it is for `parse_long_command`.
/// SIZE_MAX: none does.
[[nodiscard]] std::size_t in_place_bytes_max(std::string_view line);
/// The least of these.
inline constexpr std::size_t kInPlaceBytes = 32 * 1024;

/// Every verb, for the test that looks for its transcript.
[[nodiscard]] std::vector<std::string_view> verbs();

/// Reads one line, given without its line end.
[[nodiscard]] Result<Command, Refused> parse_command(std::string_view line);

/// The same for a line of any length. Of a report that is not short only the members count that the
/// server knows: `line` then becomes a shorter one. Views are in it.
[[nodiscard]] Result<Command, Refused> parse_long_command(std::string& line);

/// Reads a HELLO. nullopt: the line is something else, or has members of wrong types or beyond
/// their limits.
[[nodiscard]] std::optional<Hello> parse_hello(std::string_view line);

}  // namespace millrace::faktory
