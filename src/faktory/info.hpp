#pragma once

#include <string>

#include "core/types.hpp"
#include "faktory/door.hpp"

namespace millrace::faktory {

/// The JSON that INFO answers, with every member that the reference has, in its order: there are
/// clients that fail without one of them.
[[nodiscard]] std::string render_info(const DoorState& door, Time now);

}  // namespace millrace::faktory
