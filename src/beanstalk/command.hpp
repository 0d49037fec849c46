#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/model/types.hpp"

/// The commands of the beanstalk protocol as values, and the pure function that reads them from
/// bytes. Views in them point into the parsed input.
namespace millrace::beanstalk {

/// put <pri> <delay> <ttr> <bytes>\r\n<body>\r\n
struct Put {
  Pri pri;
  std::uint32_t delay_s;
  std::uint32_t ttr_s;
  std::string_view body;
};

/// peek <id>
struct Peek {
  JobId id;
};
/// peek-ready
struct PeekReady {};
/// peek-delayed
struct PeekDelayed {};
/// peek-buried
struct PeekBuried {};

/// reserve
struct Reserve {};
/// reserve-with-timeout <seconds>
struct ReserveWithTimeout {
  std::uint32_t timeout_s;
};
/// reserve-job <id>
struct ReserveJob {
  JobId id;
};

/// delete <id>
struct Delete {
  JobId id;
};
/// release <id> <pri> <delay>
struct Release {
  JobId id;
  Pri pri;
  std::uint32_t delay_s;
};
/// bury <id> <pri>
struct Bury {
  JobId id;
  Pri pri;
};
/// touch <id>
struct Touch {
  JobId id;
};
/// kick <bound>
struct Kick {
  std::uint32_t bound;
};
/// kick-job <id>
struct KickJob {
  JobId id;
};

/// use <tube>
struct Use {
  std::string_view tube;
};
/// watch <tube>
struct Watch {
  std::string_view tube;
};
/// ignore <tube>
struct Ignore {
  std::string_view tube;
};
/// pause-tube <tube> <seconds>
struct PauseTube {
  std::string_view tube;
  std::uint32_t seconds;
};

/// stats
struct Stats {};
/// stats-job <id>
struct StatsJob {
  JobId id;
};
/// stats-tube <tube>
struct StatsTube {
  std::string_view tube;
};
/// list-tubes
struct ListTubes {};
/// list-tube-used
struct ListTubeUsed {};
/// list-tubes-watched
struct ListTubesWatched {};

/// quit
struct Quit {};

using Command = std::variant<Put, Peek, PeekReady, PeekDelayed, PeekBuried, Reserve,
                             ReserveWithTimeout, ReserveJob, Delete, Release, Bury, Touch, Kick,
                             KickJob, Use, Watch, Ignore, PauseTube, Stats, StatsJob, StatsTube,
                             ListTubes, ListTubeUsed, ListTubesWatched, Quit>;
inline constexpr std::size_t kCommandCount = std::variant_size_v<Command>;

/// The place of a command among `Command`'s alternatives.
template <typename C, std::size_t I = 0>
constexpr std::size_t command_index() {
  if constexpr (std::is_same_v<C, std::variant_alternative_t<I, Command>>) {
    return I;
  } else {
    return command_index<C, I + 1>();
  }
}

/// The longest command line, with its CR LF, as in beanstalkd since 1.11.
inline constexpr std::size_t kLineBytesMax = 224;
inline constexpr std::string_view kLineEnd = "\r\n";
inline constexpr std::size_t kTubeNameBytesMax = 200;

/// The rest of the command has not arrived.
struct NeedMore {
  std::size_t bytes;  ///< parse again when the input has this many
};

/// A put whose long body has not arrived whole: `put.body` is empty. The body and its line end come
/// after what was consumed.
struct LongPut {
  Put put;
  std::size_t body_bytes = 0;
};

/// The body of such a put is longer than this.
inline constexpr std::size_t kLongPutBytes = 128 * 1024;

/// Why there is no command, and how much of the input belongs to the refused one.
struct Refused {
  enum class Reason {
    kUnknownCommand,
    kBadFormat,
    kJobTooBig,
    kExpectedCrlf,
    kOutOfMemory,
    kLineTooLong,  ///< skip up to the next CR LF, however far that is
  };
  Reason reason;
  std::uint64_t skip_bytes = 0;  ///< to skip after what was consumed
  std::optional<std::size_t>
      counts_as{};  ///< the `command_index` of the counter that is raised all the same
};

struct Parsed {
  std::size_t consumed = 0;
  std::variant<NeedMore, Refused, Command, LongPut> result;
};

/// Takes one command off the front of `input`. A refusal is answered after its bytes were skipped.
[[nodiscard]] Parsed parse_command(std::string_view input, std::size_t job_bytes_max);

/// Every verb as a line begins with it, for the test that looks for its transcript.
[[nodiscard]] std::vector<std::string_view> verbs();

/// Skips to the end of an overlong line: how many bytes to drop, and whether they include its CR
/// LF. A CR at the very end stays, since its LF may follow.
struct SkippedLine {
  std::size_t consumed = 0;
  bool is_complete = false;
};
[[nodiscard]] SkippedLine skip_line(std::string_view input);

}  // namespace millrace::beanstalk
