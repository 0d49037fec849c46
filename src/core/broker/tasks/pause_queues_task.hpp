#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/broker/tasks/task_context.hpp"

namespace millrace {

/// Pauses or resumes queues one after the other. Unknown names are passed over.
struct PauseQueuesTask {
  static constexpr bool kEndsWithClient = false;

  /// One slice. True when nothing is left to do.
  bool work(TaskContext& context, Time now);

  std::vector<std::string> names;
  std::optional<std::uint32_t> seconds;  ///< as in `AdminOperations::pause`
  std::size_t next_name = 0;
  std::uint64_t changed = 0;
};

}  // namespace millrace
