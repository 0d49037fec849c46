#include "server/web/system_reader.hpp"

#include <utility>

namespace millrace::server {

http::SystemFacts SystemReader::facts() {
  std::unique_lock lock(mutex_);
  if (is_reading_) is_read_.wait_for(lock, kPatience, [this] { return !is_reading_; });
  const bool is_fresh = std::chrono::steady_clock::now() - read_at_ < kKept;
  if (is_reading_ || is_fresh) return known_;
  is_reading_ = true;
  lock.unlock();
  http::SystemFacts read = read_();
  lock.lock();
  known_ = std::move(read);
  read_at_ = std::chrono::steady_clock::now();
  is_reading_ = false;
  is_read_.notify_all();
  return known_;
}

}  // namespace millrace::server
