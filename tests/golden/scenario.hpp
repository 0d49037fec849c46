#pragma once

#include <string>
#include <vector>

#include "core/broker/view.hpp"

namespace millrace::golden {

/// Everything that both protocols can leave in a log, as the batches of one server's life: every
/// state in which a job can be, every kind of record, and all their optional parts.
[[nodiscard]] std::vector<std::string> record_life();

/// All jobs, queues and counters, as lines for `expected.txt`. It must tell everything that a
/// restart brings back, and the same as ever for a log that was written long ago.
[[nodiscard]] std::string tell(const View& view);

}  // namespace millrace::golden
