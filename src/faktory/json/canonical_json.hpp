#pragma once

#include <string>
#include <string_view>

namespace millrace::faktory {

/// Appends a text that is the same for all JSON texts of one value, and differs for any two values.
/// Members of objects are sorted, and of several with one name the last one counts. Strings are
/// what they mean, and numbers what they are worth, to the last digit: 1, 1.0 and 1e0 are the same,
/// 2^53 and 2^53 + 1 are not. `json` was checked, and is nested no deeper than `kNestingMax`.
void append_canonical(std::string_view json, std::string& out);

}  // namespace millrace::faktory
