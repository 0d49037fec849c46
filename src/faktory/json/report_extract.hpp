#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace::faktory {

/// A FAIL that is refused would leave its job reserved, and its cause unknown. So of what a worker
/// reports by ACK, FAIL, BEAT or TRACK SET the members are read that the server knows, whatever
/// else is in it. Answers the line with these members alone. Of each text there is the beginning,
/// longer than what is stored of it, and of a list there are as many entries as are stored. All
/// else must be JSON, in which strings may have control characters: they become U+FFFD.
/// nullopt: it is not, or has no object.
[[nodiscard]] std::optional<std::string> extract_report(std::string_view line);

/// How deep the rest may be nested, as in the reference.
inline constexpr int kExtractNestingMax = 10'000;

}  // namespace millrace::faktory
