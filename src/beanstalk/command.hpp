#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/model/types.hpp"

/// The commands of the beanstalk protocol as values, and the pure function that makes them of
/// bytes. Views point into the parsed input.
namespace millrace::beanstalk {

/// put <pri> <delay> <ttr> <bytes>\r\n<body>\r\n
struct Put {
  Pri pri;
  std::uint32_t delay_s;
  std::uint32_t ttr_s;
  std::string_view body;
};

struct Peek {
  JobId id;
};
struct PeekReady {};
struct PeekDelayed {};
struct PeekBuried {};

struct Reserve {};
struct ReserveWithTimeout {
  std::uint32_t timeout_s;
};
struct ReserveJob {
  JobId id;
};

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
struct Touch {
  JobId id;
};
struct Kick {
  std::uint32_t bound;
};
struct KickJob {
  JobId id;
};

struct Use {
  std::string_view tube;
};
struct Watch {
  std::string_view tube;
};
struct Ignore {
  std::string_view tube;
};
/// pause-tube <tube> <seconds>
struct PauseTube {
  std::string_view tube;
  std::uint32_t seconds;
};

struct Stats {};
struct StatsJob {
  JobId id;
};
struct StatsTube {
  std::string_view tube;
};
struct ListTubes {};
struct ListTubeUsed {};
struct ListTubesWatched {};

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

/// A command line with its CR LF is not longer.
inline constexpr std::size_t kLineBytesMax = 224;
inline constexpr std::size_t kTubeNameBytesMax = 200;

/// The rest of the command has not arrived.
struct NeedMore {
  std::size_t bytes;  ///< parsing again makes no sense before the input has so many
};

/// Why there is no command, and what else of the input belongs to it.
struct Refused {
  enum class Reason {
    kUnknownCommand,
    kBadFormat,
    kJobTooBig,
    kExpectedCrlf,
    kLineTooLong,  ///< skip through the next CR LF, wherever that is
  };
  Reason reason;
  std::uint64_t skip_bytes = 0;  ///< to be skipped beyond what was consumed
  std::optional<std::size_t>
      counts_as{};  ///< the `command_index` whose counter goes up all the same
};

struct Parsed {
  std::size_t consumed = 0;
  std::variant<NeedMore, Refused, Command> result;
};

/// Takes one command off the front of `input`. A refusal is answered after its skip.
[[nodiscard]] Parsed parse_command(std::string_view input, std::size_t job_bytes_max);

/// Every verb, as it stands at the beginning of a line.
[[nodiscard]] std::vector<std::string_view> verbs();

/// Skips to the end of an overlong line: how many bytes to drop, and whether its CR LF was among
/// them. A CR at the very end stays, since its LF may follow.
struct SkippedLine {
  std::size_t consumed = 0;
  bool is_complete = false;
};
[[nodiscard]] SkippedLine skip_line(std::string_view input);

}  // namespace millrace::beanstalk
