#pragma once

#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace millrace::http {

/// What in a request's head another reader might take otherwise than we do: a proxy before us would
/// see the request end elsewhere, or go to another host. `head`: from the first line on.
[[nodiscard]] std::optional<Problem> find_ambiguity(std::string_view head);

}  // namespace millrace::http
