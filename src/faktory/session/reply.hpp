#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/worker.hpp"
#include "faktory/job/pushed_job.hpp"
#include "faktory/session/auth.hpp"
#include "faktory/session/command.hpp"

/// Every text that the door sends. The functions append whole replies, so that each leaves in one
/// write: some clients read a reply with a single read.
namespace millrace::faktory {

/// `+HI {"v":2}`, or with the challenge `+HI {"v":2,"i":4711,"s":"50427e771e3b4f99"}`. No spaces in
/// the JSON: there are clients that split at them.
void append_hi(const std::optional<Challenge>& challenge, std::string& out);

/// `+OK`
void append_ok(std::string& out);

/// `$5`, and the bytes
void append_bulk(std::string_view bytes, std::string& out);

/// `$-1`: no job
void append_nil(std::string& out);

/// `+OK` for a running worker, else `{"state":"quiet"}` as a bulk string
void append_state(Worker::State state, std::string& out);

/// `-ERR text`. Control characters in the text are replaced, and it is cut to a limit.
void append_error(std::string_view text, std::string& out);

[[nodiscard]] std::string fault_text(const CommandFault& fault);
[[nodiscard]] std::string fault_text(const JobFault& fault);
[[nodiscard]] std::string job_not_found(std::string_view jid);
[[nodiscard]] std::string unknown_worker(std::string_view wid);
[[nodiscard]] std::string too_many_connections(std::uint64_t count);
[[nodiscard]] std::string line_too_long(std::size_t line_bytes_max);

inline constexpr std::string_view kInvalidPassword = "Invalid password";
inline constexpr std::string_view kNoRoom =
    "server is out of space: try again when some jobs have ended";
inline constexpr std::string_view kShutdown = "shutdown in progress";
inline constexpr std::string_view kNoTracking =
    "tracking subsystem is only available in Faktory Enterprise";
inline constexpr std::string_view kNoBatches =
    "batch subsystem is only available in Faktory Enterprise";

}  // namespace millrace::faktory
