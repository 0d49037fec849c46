#include "beanstalk/command.hpp"

#include <algorithm>

#include "beanstalk/argument.hpp"

namespace millrace::beanstalk {
namespace {

using Reason = Refused::Reason;

/// The longest timeout that beanstalkd takes: 2^31 - 1.
constexpr std::uint32_t kTimeoutMax = 2147483647;

/// A command without a body, or why the line is none.
using LineResult = std::variant<Refused, Command>;
constexpr Refused kBadFormat{Reason::kBadFormat};

template <typename C>
LineResult without_arguments(std::string_view rest) {
  if (!rest.empty()) return kBadFormat;
  return C{};
}

template <typename C>
LineResult with_id(std::string_view rest) {
  auto id = take_u64(rest);
  if (!id || !rest.empty()) return kBadFormat;
  return C{*id};
}

/// The rest of the line is the name of a tube.
template <typename C>
LineResult with_tube(std::string_view rest) {
  if (!is_tube_name(rest)) return kBadFormat;
  return C{rest};
}

/// What follows the number is ignored.
LineResult reserve_with_timeout(std::string_view rest) {
  auto timeout_s = take_u32(rest, kTimeoutMax);
  if (!timeout_s) return kBadFormat;
  return ReserveWithTimeout{*timeout_s};
}

LineResult release(std::string_view rest) {
  auto id = take_u64(rest);
  auto pri = id ? take_u32(rest) : std::nullopt;
  auto delay_s = pri ? take_u32(rest) : std::nullopt;
  if (!delay_s || !rest.empty()) return kBadFormat;
  return Release{*id, *pri, *delay_s};
}

LineResult bury(std::string_view rest) {
  auto id = take_u64(rest);
  auto pri = id ? take_u32(rest) : std::nullopt;
  if (!pri || !rest.empty()) return kBadFormat;
  return Bury{*id, *pri};
}

/// What follows the number is ignored.
LineResult kick(std::string_view rest) {
  auto bound = take_lenient_bound(rest);
  if (!bound) return kBadFormat;
  return Kick{*bound};
}

/// The space before the name may be missing. beanstalkd counts the command before it looks at the
/// length of the name and at its first character, and so do we.
LineResult pause_tube(std::string_view rest) {
  std::string_view tube = take_tube_characters(rest);
  auto seconds = tube.empty() ? std::nullopt : take_u32(rest);
  if (!seconds || !rest.empty()) return kBadFormat;
  if (!is_tube_name(tube)) return Refused{Reason::kBadFormat, 0, command_index<PauseTube>()};
  return PauseTube{tube, *seconds};
}

LineResult quit(std::string_view) {
  return Quit{};
}

/// The first row whose prefix a line starts with is its verb, so longer verbs come before shorter
/// ones. `put` is not here, since a body follows it.
struct Verb {
  std::string_view prefix;
  LineResult (*parse)(std::string_view rest);
};
constexpr std::string_view kPutPrefix = "put ";
constexpr Verb kVerbs[] = {
    {"peek ", with_id<Peek>},
    {"peek-ready", without_arguments<PeekReady>},
    {"peek-delayed", without_arguments<PeekDelayed>},
    {"peek-buried", without_arguments<PeekBuried>},
    {"reserve-with-timeout ", reserve_with_timeout},
    {"reserve-job ", with_id<ReserveJob>},
    {"reserve", without_arguments<Reserve>},
    {"delete ", with_id<Delete>},
    {"release ", release},
    {"bury ", bury},
    {"kick ", kick},
    {"kick-job ", with_id<KickJob>},
    {"touch ", with_id<Touch>},
    {"stats-job ", with_id<StatsJob>},
    {"stats-tube ", with_tube<StatsTube>},
    {"stats", without_arguments<Stats>},
    {"use ", with_tube<Use>},
    {"watch ", with_tube<Watch>},
    {"ignore ", with_tube<Ignore>},
    {"list-tubes-watched", without_arguments<ListTubesWatched>},
    {"list-tube-used", without_arguments<ListTubeUsed>},
    {"list-tubes", without_arguments<ListTubes>},
    {"quit", quit},
    {"pause-tube", pause_tube},
};

Parsed parse_verb(std::string_view line, std::size_t line_bytes) {
  const auto* verb = std::find_if(std::begin(kVerbs), std::end(kVerbs), [line](const Verb& each) {
    return line.starts_with(each.prefix);
  });
  if (verb == std::end(kVerbs)) return {line_bytes, Refused{Reason::kUnknownCommand}};
  LineResult result = verb->parse(line.substr(verb->prefix.size()));
  if (auto* refused = std::get_if<Refused>(&result)) return {line_bytes, *refused};
  return {line_bytes, std::get<Command>(result)};
}

/// The size is checked before the rest of the line, so that the body of an oversized job is skipped
/// even if the line is malformed.
Parsed parse_put(std::string_view rest, std::size_t line_bytes, std::string_view input,
                 std::size_t job_bytes_max) {
  auto pri = take_u32(rest);
  auto delay_s = pri ? take_u32(rest) : std::nullopt;
  auto ttr_s = delay_s ? take_u32(rest) : std::nullopt;
  auto body_bytes = ttr_s ? take_u32(rest) : std::nullopt;
  if (!body_bytes) return {line_bytes, kBadFormat};

  constexpr std::size_t kCounted = command_index<Put>();
  // Counted as a put although it is refused, as beanstalkd does.
  if (*body_bytes > job_bytes_max) {
    std::uint64_t skip_bytes = std::uint64_t{*body_bytes} + kLineEnd.size();
    return {line_bytes, Refused{Reason::kJobTooBig, skip_bytes, kCounted}};
  }
  if (!rest.empty()) return {line_bytes, Refused{Reason::kBadFormat, 0, kCounted}};

  std::size_t total = line_bytes + *body_bytes + kLineEnd.size();
  if (input.size() < total && *body_bytes > kLongPutBytes) {
    return {line_bytes, LongPut{.put = {*pri, *delay_s, *ttr_s, {}}, .body_bytes = *body_bytes}};
  }
  // Nothing is consumed until the body is whole: the session keeps the bytes, and the line is
  // parsed again once.
  if (input.size() < total) return {0, NeedMore{total}};
  if (input.substr(line_bytes + *body_bytes, kLineEnd.size()) != kLineEnd) {
    return {total, Refused{Reason::kExpectedCrlf, 0, kCounted}};
  }
  return {total, Put{*pri, *delay_s, *ttr_s, input.substr(line_bytes, *body_bytes)}};
}

}  // namespace

Parsed parse_command(std::string_view input, std::size_t job_bytes_max) {
  std::size_t end = input.substr(0, kLineBytesMax).find(kLineEnd);
  if (end == std::string_view::npos) {
    // Without a size to wait for: the next byte may end the line.
    if (input.size() < kLineBytesMax) return {0, NeedMore{input.size() + 1}};
    return {0, Refused{Reason::kLineTooLong}};
  }
  std::string_view line = input.substr(0, end);
  std::size_t line_bytes = end + kLineEnd.size();
  // beanstalkd works with C strings, and refuses what they cannot hold.
  if (line.find('\0') != std::string_view::npos) return {line_bytes, kBadFormat};
  if (line.starts_with(kPutPrefix)) {
    return parse_put(line.substr(kPutPrefix.size()), line_bytes, input, job_bytes_max);
  }
  return parse_verb(line, line_bytes);
}

std::vector<std::string_view> verbs() {
  std::vector<std::string_view> all{kPutPrefix};
  for (const Verb& verb : kVerbs) all.push_back(verb.prefix);
  return all;
}

SkippedLine skip_line(std::string_view input) {
  std::size_t end = input.find(kLineEnd);
  if (end != std::string_view::npos) return {end + kLineEnd.size(), true};
  // The CR may be the first half of the line end that is looked for.
  return {input.ends_with('\r') ? input.size() - 1 : input.size(), false};
}

}  // namespace millrace::beanstalk
