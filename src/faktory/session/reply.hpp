#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "access/rights.hpp"
#include "base/long_text.hpp"
#include "core/model/features/track.hpp"
#include "core/model/wall_clock.hpp"
#include "core/model/worker.hpp"
#include "faktory/job/pushed_job.hpp"
#include "faktory/session/auth.hpp"
#include "faktory/session/command.hpp"

/// Everything that the Faktory protocol answers. Each function appends one whole reply to `out`, so
/// that it leaves in one write: some clients read a reply with a single read. The texts of errors
/// are written here and nowhere else.
namespace millrace::faktory::reply {

/// `+HI {"v":2}`, or with the challenge `+HI {"v":2,"i":4711,"s":"50427e771e3b4f99"}`. The JSON has
/// no spaces: some clients split the line at them.
void hi(std::string& out, const std::optional<Challenge>& challenge);

/// `+OK`
void ok(std::string& out);

/// `$<count>`, and the bytes
void bulk(std::string& out, std::string_view bytes);

/// The same of many.
[[nodiscard]] LongText long_bulk(LongText&& bytes);

/// `$-1`: no job
void nil(std::string& out);

/// `+OK` for a running worker, else `{"state":"quiet"}` as a bulk string
void worker_state(std::string& out, Worker::State state);

/// `{"jid":"..","percent":12,"desc":"..","state":"working","updated_at":"<time>"}` as a bulk
/// string. A percent that was never set and an empty description are left out. Of a job that
/// nothing is known of the time is empty.
void track(std::string& out, std::string_view jid, const TrackView& track, WallClock clock);

/// `-ERR text`. Control characters in the text are replaced, and it is cut to a limit.
void error(std::string& out, std::string_view text);

/// The error of a PUSH.
void refused_job(std::string& out, const RefusedJob& refused);

/// The texts of errors, for `error`.
[[nodiscard]] std::string refusal(const Refused& refused);
[[nodiscard]] std::string refusal(const RefusedJob& refused);
/// `of`: for what; may be empty.
[[nodiscard]] std::string not_allowed(std::string_view user, access::Right lacking,
                                      std::string_view of);
[[nodiscard]] std::string job_not_found(std::string_view jid);
[[nodiscard]] std::string no_such_batch(std::string_view bid);
[[nodiscard]] std::string unknown_worker(std::string_view wid);
[[nodiscard]] std::string too_many_connections(std::uint64_t count);
[[nodiscard]] std::string line_too_long(std::size_t line_bytes_max);

inline constexpr std::string_view kInvalidPassword = "Invalid password";
inline constexpr std::string_view kNoRoom =
    "server is out of space: try again when some jobs have ended";
inline constexpr std::string_view kWidOfAnother = "NOPERM a worker of another user has this wid";
inline constexpr std::string_view kShutdown = "shutdown in progress";

}  // namespace millrace::faktory::reply
