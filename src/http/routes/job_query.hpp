#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "http/kit/json.hpp"
#include "http/routes/job_filter.hpp"

namespace millrace::http {

/// A filter of one member.
struct QueryTerm {
  JobFilter filter;
  bool is_negated = false;
};

/// A job matches if all terms of one of the alternatives hold.
using JobQuery = std::vector<std::vector<QueryTerm>>;

inline constexpr std::size_t kQueryTermsMax = 32;

/// Reads what people write in one line:
///
///     query = terms *( "OR" terms )
///     terms = 1*( [ "-" ] term )
///     term  = name ( ":" | "<" | ">" ) value | "args." path ":" value | word
///
/// A value may be in quotes, in which a backslash precedes a quote or a backslash; so may a word,
/// which is a part of the body. `age`, `attempts` and `failed` are compared: `age>1h`,
/// `attempts>3`, `failed<30m` or `failed>2026-11-26T10:05:00Z`. The problem is a line for a person.
[[nodiscard]] Outcome<JobQuery> parse_query(std::string_view text);

}  // namespace millrace::http
