#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <vector>

#include "http/routes/site.hpp"

namespace millrace::server {

/// What the system says of disk and memory, reused for a second. A file system may not answer, so a
/// thread of its own asks it: all others are then told what was known before.
class SystemReader {
 public:
  using Then = std::function<void(const http::SystemFacts&)>;

  /// `context` outlives it.
  SystemReader(asio::io_context& context, std::function<http::SystemFacts()> read);

  /// Calls `then` in the thread of the context, where it is to be called itself.
  void facts(Then then);

  static constexpr auto kKept = std::chrono::seconds(1);
  /// How long somebody waits for what is being read.
  static constexpr auto kPatience = std::chrono::milliseconds(500);

 private:
  void tell();

  asio::io_context& context_;
  const std::function<http::SystemFacts()> read_;
  asio::steady_timer patience_;
  std::vector<Then> waiting_;
  bool is_reading_ = false;
  http::SystemFacts known_;
  std::chrono::steady_clock::time_point kept_until_{};
  asio::thread_pool thread_{1};
};

}  // namespace millrace::server
