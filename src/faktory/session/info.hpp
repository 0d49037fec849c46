#pragma once

#include <functional>
#include <string>

#include "core/model/queue.hpp"
#include "core/model/types.hpp"
#include "faktory/session/shared.hpp"

namespace millrace::faktory {

/// The JSON that INFO answers, with every member that the reference has, in its order: some clients
/// fail when one is missing.
[[nodiscard]] std::string render_info(const Shared& shared, Time now);

/// The same, with the given queues. The returned function writes it and reads nothing of `shared`,
/// so any thread may call it.
[[nodiscard]] std::function<std::string()> prepare_info(const Shared& shared, Time now,
                                                        QueueSizes sizes);

}  // namespace millrace::faktory
