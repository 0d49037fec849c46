#include "engines/postgres/waker.hpp"

#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/check.hpp"

namespace millrace::engines::postgres {
namespace {

constexpr std::size_t kSocketsMax = 4;
constexpr std::chrono::hours kForever(24);

}  // namespace

Time later(Time now, std::chrono::nanoseconds duration) {
  return now +
         std::clamp<std::chrono::nanoseconds>(duration, std::chrono::nanoseconds(0), kForever);
}

Waker::Waker() : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

void Waker::wake() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
}

bool Waker::is_woken() {
  std::uint64_t count = 0;
  is_woken_ |= ::read(event_.get(), &count, sizeof count) == sizeof count;
  return is_woken_;
}

bool Waker::take() {
  const bool rang = is_woken();
  is_woken_ = false;
  return rang;
}

bool Waker::wait(std::initializer_list<pollfd> sockets, Time until) const {
  CHECK(sockets.size() < kSocketsMax);
  std::array<pollfd, kSocketsMax> all;
  const auto end = std::copy(sockets.begin(), sockets.end(), all.begin());
  *end = {is_woken_ ? -1 : event_.get(), POLLIN, 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  const int limit_ms = static_cast<int>(std::clamp<long long>(left, 0, 60'000));
  return ::poll(all.data(), sockets.size() + 1, limit_ms) > 0;
}

}  // namespace millrace::engines::postgres
