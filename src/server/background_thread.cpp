#include "server/background_thread.hpp"

#include <pthread.h>

#include <asio/post.hpp>
#include <utility>

#include "base/check.hpp"

namespace millrace::server {

BackgroundThread::~BackgroundThread() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
}

void BackgroundThread::start() {
  thread_ = std::thread([this] { context_.run(); });
  pthread_setname_np(thread_.native_handle(), "background");
}

void BackgroundThread::run(std::function<void()> work, std::function<void()> done) {
  CHECK(thread_.joinable());
  asio::post(context_, [this, work = std::move(work), done = std::move(done)]() mutable {
    work();
    work = {};
    poller_.post([this, done = std::move(done)] {
      done();
      on_done_();
    });
  });
}

}  // namespace millrace::server
