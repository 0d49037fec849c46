#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "core/model/types.hpp"

namespace millrace::journal {

/// What the writer tells about its work. The writer's thread sets it; any thread may read it.
class WriterStatus {
 public:
  // ---- for everybody ----------------------------------------------------------------------------

  /// Everything before this position is as safe as the sync mode promises.
  [[nodiscard]] Lsn durable() const { return durable_.load(std::memory_order_acquire); }

  [[nodiscard]] bool is_full() const { return is_full_.load(std::memory_order_acquire); }

  /// Why it became full, in the words of the system; empty when the system said nothing.
  [[nodiscard]] std::string problem() const;

  /// How long the log can become on a full disk, in bytes.
  [[nodiscard]] std::uint64_t log_bytes_max() const {
    return log_bytes_max_.load(std::memory_order_relaxed);
  }

  /// While the disk is full: removing the oldest segment frees nothing.
  [[nodiscard]] bool is_oldest_shared() const {
    return is_full() && is_oldest_shared_.load(std::memory_order_relaxed);
  }

  /// `wake` is called on the writer's thread when `durable()` or `is_full()` has changed. When this
  /// returns, the `wake` set before is not running and will not run again.
  void on_change(std::function<void()> wake);

  // ---- for the writer ---------------------------------------------------------------------------

  /// What a replay has found, before the writer's first round. Wakes nobody.
  void begin(Lsn durable, bool is_full, std::string problem = {});

  void set_durable(Lsn durable);

  /// False when nothing has changed: then the first problem stays.
  bool set_full(bool is_full, std::string problem = {});

  void set_log_bytes_max(std::uint64_t bytes) {
    log_bytes_max_.store(bytes, std::memory_order_relaxed);
  }
  void set_oldest_shared(bool is_shared) {
    is_oldest_shared_.store(is_shared, std::memory_order_relaxed);
  }

 private:
  void wake();

  std::atomic<Lsn> durable_ = 0;
  std::atomic<bool> is_full_ = false;
  std::atomic<std::uint64_t> log_bytes_max_ = 0;
  std::atomic<bool> is_oldest_shared_ = false;

  mutable std::mutex problem_mutex_;
  std::string problem_;  ///< under the mutex

  std::mutex wake_mutex_;       ///< held while `wake_` runs
  std::function<void()> wake_;  ///< under the mutex
};

}  // namespace millrace::journal
