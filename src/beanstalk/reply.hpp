#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/long_text.hpp"
#include "beanstalk/shared.hpp"
#include "core/broker/view.hpp"
#include "core/model/job.hpp"
#include "core/model/queue.hpp"
#include "core/model/types.hpp"
#include "core/ports/work_unit.hpp"

/// Everything that the beanstalk protocol answers. Each function appends one whole reply to `out`.
namespace millrace::beanstalk::reply {

inline constexpr std::string_view kBadFormat = "BAD_FORMAT\r\n";
inline constexpr std::string_view kBuried = "BURIED\r\n";
inline constexpr std::string_view kDeadlineSoon = "DEADLINE_SOON\r\n";
inline constexpr std::string_view kDeleted = "DELETED\r\n";
inline constexpr std::string_view kDraining = "DRAINING\r\n";
inline constexpr std::string_view kExpectedCrlf = "EXPECTED_CRLF\r\n";
inline constexpr std::string_view kInternalError = "INTERNAL_ERROR\r\n";
inline constexpr std::string_view kJobTooBig = "JOB_TOO_BIG\r\n";
inline constexpr std::string_view kKicked = "KICKED\r\n";
inline constexpr std::string_view kNotFound = "NOT_FOUND\r\n";
inline constexpr std::string_view kNotIgnored = "NOT_IGNORED\r\n";
inline constexpr std::string_view kOutOfMemory = "OUT_OF_MEMORY\r\n";
inline constexpr std::string_view kPaused = "PAUSED\r\n";
inline constexpr std::string_view kReleased = "RELEASED\r\n";
inline constexpr std::string_view kTimedOut = "TIMED_OUT\r\n";
inline constexpr std::string_view kTouched = "TOUCHED\r\n";
inline constexpr std::string_view kUnknownCommand = "UNKNOWN_COMMAND\r\n";

/// The answer to a refused line or body.
[[nodiscard]] std::string_view refusal(const Refused& refused);

void inserted(std::string& out, JobId id);
void kicked(std::string& out, std::uint64_t count);
void using_tube(std::string& out, std::string_view tube);
void watching(std::string& out, std::size_t count);

/// A job to show. RESERVED and FOUND have a pushed work unit as FETCH would return it.
struct ShownJob {
  const Job& job;
  std::string_view tube;
  const WorkUnitFormat& format;
  WallClock clock;
};
void reserved(std::string& out, const ShownJob& shown);
void found(std::string& out, const ShownJob& shown);

/// The same for a long job, whose body stays where it is for as long as `body` is there. nullopt:
/// the job can only be rendered as a whole.
[[nodiscard]] std::optional<LongText> long_reserved(const ShownJob& shown, const TextOwner& body);
[[nodiscard]] std::optional<LongText> long_found(const ShownJob& shown, const TextOwner& body);

void tube_list(std::string& out, const std::vector<std::string_view>& tubes);
void stats(std::string& out, const Shared& shared, const View& view, Time now);
void stats_job(std::string& out, const ShownJob& shown, Time now);
void stats_tube(std::string& out, const Queue& tube, Time now);

}  // namespace millrace::beanstalk::reply
