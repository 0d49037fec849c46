#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/job.hpp"

namespace millrace {

/// The group of a failure, 16 hexadecimal digits: the same for failures of one type whose
/// normalized messages and frames are the same, in every process, since links name it.
[[nodiscard]] std::string failure_group(const Failure& failure);
/// The same as a number, never 0. It takes some microseconds once for each failure, which keeps it.
[[nodiscard]] std::uint64_t failure_group_number(const Failure& failure);
/// The number of that name; nullopt: no group is named so.
[[nodiscard]] std::optional<std::uint64_t> parse_failure_group(std::string_view name);

/// The first 300 bytes of the message, with `#` for what differs from one job to the next: numbers
/// and words with digits, words of eight or more hexadecimal digits, quoted texts, e-mail and IPv6
/// addresses, URLs and paths.
[[nodiscard]] std::string normalized_message(std::string_view message);

/// The innermost frame of the backtrace that is not of a library, with `#` for numbers, among 100
/// lines; of libraries only, the first one. At most 200 bytes of it. Empty: the backtrace has no
/// line that names a place in code.
[[nodiscard]] std::string normalized_frame(const Failure& failure);

}  // namespace millrace
