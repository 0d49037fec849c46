#include "server/web/system_reader.hpp"

#include <pthread.h>

#include <asio/post.hpp>
#include <utility>

namespace millrace::server {

SystemReader::SystemReader(asio::io_context& context, std::function<http::SystemFacts()> read)
    : context_(context), read_(std::move(read)), patience_(context) {
  asio::post(thread_, [] { pthread_setname_np(pthread_self(), "web_disk"); });
}

void SystemReader::facts(Then then) {
  const auto now = std::chrono::steady_clock::now();
  const bool is_overdue = is_reading_ && patience_.expiry() <= now;
  if (is_overdue || now < kept_until_) return then(known_);
  waiting_.push_back(std::move(then));
  if (std::exchange(is_reading_, true)) return;
  patience_.expires_after(kPatience);
  patience_.async_wait([this](const asio::error_code& error) {
    if (!error) tell();
  });
  asio::post(thread_, [this] {
    asio::post(context_, [this, read = read_()] {
      known_ = read;
      kept_until_ = std::chrono::steady_clock::now() + kKept;
      is_reading_ = false;
      patience_.cancel();
      tell();
    });
  });
}

void SystemReader::tell() {
  for (const Then& then : std::exchange(waiting_, {})) then(known_);
}

}  // namespace millrace::server
