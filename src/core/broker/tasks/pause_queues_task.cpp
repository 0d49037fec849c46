#include "core/broker/tasks/pause_queues_task.hpp"

namespace millrace {

bool PauseQueuesTask::work(TaskContext& context, Time now) {
  for (std::size_t i = 0; i < kSliceJobs && next_name < names.size(); ++i) {
    if (context.pauses.pause(names[next_name++], seconds, now)) ++changed;
  }
  return next_name == names.size();
}

}  // namespace millrace
