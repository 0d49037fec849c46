#pragma once

#include <atomic>
#include <cstdint>

namespace millrace::server {

/// What the main loop does right now. Its thread says so when a step begins, which costs two
/// stores; any thread may ask.
class LoopStep {
 public:
  /// `name` is a literal.
  void begin(const char* name) {
    name_.store(name, std::memory_order_relaxed);
    count_.store(count() + 1, std::memory_order_relaxed);
  }

  [[nodiscard]] const char* name() const { return name_.load(std::memory_order_relaxed); }

  /// Of the steps that have begun: it does not change while the loop hangs.
  [[nodiscard]] std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<const char*> name_ = "start";
  std::atomic<std::uint64_t> count_ = 0;
};

}  // namespace millrace::server
