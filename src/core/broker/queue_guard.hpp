#pragma once

#include "base/check.hpp"
#include "core/model/queue.hpp"

namespace millrace {

/// Keeps a queue from being removed as long as this exists, however the scope is left: also when
/// its last job and the last client that waits for it leave meanwhile.
class QueueGuard {
 public:
  explicit QueueGuard(Queue& queue) : queue_(queue) { ++queue_.watcher_count; }
  ~QueueGuard() {
    CHECK(queue_.watcher_count > 0);
    --queue_.watcher_count;
  }
  QueueGuard(const QueueGuard&) = delete;
  QueueGuard& operator=(const QueueGuard&) = delete;

 private:
  Queue& queue_;
};

}  // namespace millrace
