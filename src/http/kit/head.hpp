#pragma once

#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace millrace::http {

/// What in a request's head another reader might understand differently. A proxy before us could
/// then see the request end elsewhere, or go to another host. `head` begins with the first line.
/// nullopt: all readers agree.
[[nodiscard]] std::optional<Problem> find_ambiguity(std::string_view head);

}  // namespace millrace::http
