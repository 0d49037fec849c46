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
#include "faktory/job/job_filter.hpp"

/// What a client can say after the handshake, and HELLO, which is the handshake. Views point into
/// the parsed line.
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

/// `FETCH [queue ...]`; without one: `default`. Each name stands once.
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
/// No space may stand in the JSON.
struct Mutate {
  JobState set = JobState::kDead;
  Mutation::Action action = Mutation::Action::kDiscard;
  JobFilter filter;
};

/// `TRACK ...`
struct Track {};

/// `BATCH ...`
struct Batch {};

/// `END`
struct End {};

using Command = std::variant<Push, PushBulk, Fetch, Ack, Fail, Beat, Info, Flush, PauseQueues,
                             RemoveQueues, QueueLatency, Mutate, Track, Batch, End>;

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
    kTooManyQueues,
    kLatencyOfAll,
    kInvalidMutateFormat,
    kInvalidMutateJson,
    kUnknownMutation,
    kInvalidTarget,
    kGlobTooLong,
  };
  Reason reason;
  std::string_view text;
};

/// A line may name so many queues.
inline constexpr std::size_t kNamedQueuesMax = 1024;

/// Understands one line, given without its line end.
[[nodiscard]] Result<Command, Refused> parse_command(std::string_view line);

/// nullopt: not a HELLO, or one with members of wrong types or beyond their limits.
[[nodiscard]] std::optional<Hello> parse_hello(std::string_view line);

}  // namespace millrace::faktory
