#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace millrace::faktory {

/// Reads the value to its end and returns its raw text. The parser is lazy, it looks only at what
/// it is asked for; this asks for everything: each string's escapes, each number's grammar, each
/// literal. `depth` is how many containers are around the value. `document` is where the value is
/// from.
[[nodiscard]] Outcome<std::string_view> check_value(simdjson::ondemand::document& document,
                                                    simdjson::ondemand::value value,
                                                    std::size_t depth);

/// Whether nothing but white space follows what was read.
[[nodiscard]] bool is_at_end(simdjson::ondemand::document& document);

/// The text of a scalar, without white space behind it. Does not look into it.
[[nodiscard]] std::string_view raw_token(simdjson::ondemand::value value);

/// The JSON string whose first byte behind the opening quote is `inside`, quotes included.
[[nodiscard]] std::string_view raw_string(const char* inside);

/// A whole number in JSON's grammar that fits into 64 bits with a sign.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view token);

[[nodiscard]] Problem json_problem(simdjson::error_code error);

}  // namespace millrace::faktory
