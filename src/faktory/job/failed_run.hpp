#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/broker/broker.hpp"
#include "core/model/job.hpp"

namespace millrace::faktory {

/// How much of a failed run is kept, together with `kBacktraceLinesMax`. More is cut off.
inline constexpr std::size_t kErrtypeBytesMax = 100;
inline constexpr std::size_t kMessageBytesMax = 1000;
inline constexpr std::size_t kBacktraceEntryBytesMax = 1024;

/// The run as it is stored: error type and message without white space around them, `unknown` in
/// place of an empty one, and everything cut to the limits above. Of a UTF-8 sequence that was cut,
/// each byte left becomes U+FFFD.
[[nodiscard]] FailedRun cleaned(FailedRun run);

/// Whether a worker that stops gives the job back with this run, which is cleaned. The errtype is
/// `MillraceRelease`, as the name of a class in any module, or what a library reports of the jobs
/// that it interrupts, where no error of an application says the same. `is_terminating`: the worker
/// was told to terminate.
[[nodiscard]] bool is_release(const FailedRun& run, bool is_terminating);

/// Reads the `failure` member of a pushed job, as another server wrote it. A time that is missing
/// or not RFC 3339 becomes `now` (failed_at) or none (next_at); others are times of the wall clock.
[[nodiscard]] Outcome<Failure> parse_failure(std::string_view json, Time now, WallClock clock);

/// Appends the failure as FETCH shows it.
void append_failure(const Failure& failure, WallClock clock, std::string& out);

}  // namespace millrace::faktory
