#pragma once

#include <functional>
#include <string>

#include "core/model/queue.hpp"
#include "core/model/types.hpp"
#include "faktory/service.hpp"

namespace millrace::faktory {

/// The JSON that INFO answers, with every member that the reference has, in its order: there are
/// clients that fail without one of them.
[[nodiscard]] std::string render_info(const Shared& shared, Time now);

/// The same, with the queues that it is to tell of. What is returned writes it and reads nothing of
/// the door, so it may be called in any thread.
[[nodiscard]] std::function<std::string()> prepare_info(const Shared& shared, Time now,
                                                        QueueSizes sizes);

}  // namespace millrace::faktory
