#pragma once

#include <string_view>

#include "base/result.hpp"
#include "faktory/session/command.hpp"

namespace millrace::faktory {

/// Reads the argument of `MUTATE `.
[[nodiscard]] Result<Mutate, Refused> parse_mutate(std::string_view argument);

}  // namespace millrace::faktory
