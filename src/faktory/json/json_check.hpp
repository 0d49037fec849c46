#pragma once

#include <absl/functional/function_ref.h>
#include <simdjson.h>

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace millrace::faktory {

/// Reads the value to its end and returns its raw text. The parser is lazy: it checks only what it
/// is asked for. This asks for everything: each string's escapes, each number's grammar, each
/// literal. `document` is where the value is from, and `depth` how many containers are around it.
[[nodiscard]] Outcome<std::string_view> check_value(simdjson::ondemand::document& document,
                                                    simdjson::ondemand::value value,
                                                    std::size_t depth);

/// The same for an object, and shows its members: what the name means, and the raw text of the
/// value.
[[nodiscard]] Outcome<std::string_view> check_object(
    simdjson::ondemand::document& document, simdjson::ondemand::value value, std::size_t depth,
    absl::FunctionRef<void(std::string_view name, std::string_view raw)> visit);

/// True when nothing but white space follows what was read.
[[nodiscard]] bool is_at_end(simdjson::ondemand::document& document);

/// The text of a scalar, without the white space after it. The text is not checked.
[[nodiscard]] std::string_view raw_token(simdjson::ondemand::value value);

/// The JSON string that begins before `inside` with its opening quote, both quotes included. It
/// must have been parsed: the closing quote is there.
[[nodiscard]] std::string_view raw_string(const char* inside);

/// The number if it is a whole one in JSON's grammar, and fits into 64 bits with a sign.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view token);

[[nodiscard]] Problem json_problem(simdjson::error_code error);

/// How many members a job may have. Those that clients send have about a dozen.
inline constexpr std::size_t kMembersMax = 1'000;
[[nodiscard]] Problem too_many_members();

}  // namespace millrace::faktory
