#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "http/routes/site.hpp"

namespace millrace::server {

/// What the system says of disk and memory, read by whoever asks first and reused for a second. A
/// file system may not answer: then one thread waits for it, and all others are told what was known
/// before.
class SystemReader {
 public:
  explicit SystemReader(std::function<http::SystemFacts()> read) : read_(std::move(read)) {}

  /// For any thread but that of the main loop.
  [[nodiscard]] http::SystemFacts facts();

  static constexpr auto kKept = std::chrono::seconds(1);
  /// How long somebody waits for what another one reads.
  static constexpr auto kPatience = std::chrono::milliseconds(500);

 private:
  const std::function<http::SystemFacts()> read_;
  std::mutex mutex_;  ///< protects all the following; nobody holds it while he reads
  std::condition_variable is_read_;
  bool is_reading_ = false;
  http::SystemFacts known_;
  std::chrono::steady_clock::time_point read_at_{};
};

}  // namespace millrace::server
