#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <functional>
#include <thread>

#include "core/ports/background.hpp"
#include "server/net/poller.hpp"

namespace millrace::server {

/// One thread for all background work: what is long is done one after the other, beside the main
/// loop.
class BackgroundThread final : public Background {
 public:
  /// `on_done` is called in the main loop's thread after each `done`. `poller` outlives this.
  BackgroundThread(Poller& poller, std::function<void()> on_done)
      : poller_(poller), on_done_(std::move(on_done)) {}
  /// Waits for the work at hand, and drops the rest.
  ~BackgroundThread() override;
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  /// Before the first `run`.
  void start();

  void run(std::function<void()> work, std::function<void()> done) override;

 private:
  Poller& poller_;
  const std::function<void()> on_done_;
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_{context_.get_executor()};
  std::thread thread_;
};

}  // namespace millrace::server
