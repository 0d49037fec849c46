#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

#include "core/ports/background.hpp"

namespace millrace::test {

/// Background work that is done when the test says so, in its thread.
class QueuedBackground final : public Background {
 public:
  void run(std::function<void()> work, std::function<void()> done) override {
    queue_.push_back({.work = std::move(work), .done = std::move(done)});
  }

  [[nodiscard]] std::size_t size() const { return queue_.size(); }

  /// Does the oldest work, if there is any.
  bool finish_one() {
    if (queue_.empty()) return false;
    const Task task = std::move(queue_.front());
    queue_.pop_front();
    task.work();
    task.done();
    return true;
  }

 private:
  struct Task {
    std::function<void()> work;
    std::function<void()> done;
  };
  std::deque<Task> queue_;
};

}  // namespace millrace::test
