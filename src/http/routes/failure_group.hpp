#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/model/job.hpp"

namespace millrace::http {

/// The group of a failure, 16 hexadecimal digits: the same for failures of one type whose
/// normalized messages and frames are the same, in every process, since links name it.
[[nodiscard]] std::string failure_group(const Failure& failure);
/// The same as a number.
[[nodiscard]] std::uint64_t failure_group_number(const Failure& failure);

/// The first 300 bytes of the message, with `#` for what differs from one job to the next: numbers,
/// words of eight or more hexadecimal digits, UUIDs, quoted texts, e-mail and IPv6 addresses, URLs
/// and paths.
[[nodiscard]] std::string normalized_message(std::string_view message);

/// The first of 20 lines of the backtrace that is not of a library, with `#` for numbers; of
/// libraries only, the first one. At most 200 bytes of it. Empty: the failure has no backtrace.
[[nodiscard]] std::string normalized_frame(const Failure& failure);

}  // namespace millrace::http
