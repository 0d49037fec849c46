#include "core/model/features/served_queues.hpp"

namespace millrace {

void ServedQueues::note(const std::vector<std::string_view>& queues, Time now) {
  for (auto queue = queues_.begin(); queue != queues_.end();) {
    queue = is_served(queue->second, now) ? ++queue : queues_.erase(queue);
  }
  for (const std::string_view name : queues) {
    if (name.size() > kQueueNameBytesMax) continue;
    const auto known = queues_.find(name);
    if (known != queues_.end()) {
      known->second = now;
    } else if (queues_.size() < kCountMax) {
      queues_.emplace(name, now);
    } else {
      return;
    }
  }
}

bool ServedQueues::has(std::string_view queue, Time now) const {
  const auto found = queues_.find(queue);
  return found != queues_.end() && is_served(found->second, now);
}

}  // namespace millrace
