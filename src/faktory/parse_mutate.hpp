#pragma once

#include <string_view>

#include "core/result.hpp"
#include "faktory/command.hpp"

namespace millrace::faktory {

/// Understands what stands behind `MUTATE `.
[[nodiscard]] Result<Mutate, CommandFault> parse_mutate(std::string_view argument);

}  // namespace millrace::faktory
