#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/limits.hpp"

namespace millrace::server {

/// What the bodies of all requests may take together while they arrive: two of the longest, unless
/// `--max-job-size` is more.
inline constexpr std::size_t kWebBodiesMax = std::size_t{64} << 20;

/// The memory for bodies that arrive. Used by all threads of the web port.
class BodyRoom {
 public:
  /// The room of one body, which is given back at the end. The `BodyRoom` outlives it.
  class Share {
   public:
    Share(Share&& other) noexcept
        : room_(std::exchange(other.room_, nullptr)), bytes_(other.bytes_) {}
    Share& operator=(Share&& other) noexcept {
      std::swap(room_, other.room_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() {
      if (room_ != nullptr) room_->used_ -= bytes_;
    }

   private:
    friend class BodyRoom;
    Share(BodyRoom& room, std::size_t bytes) : room_(&room), bytes_(bytes) {}
    BodyRoom* room_;
    std::size_t bytes_;
  };

  /// nullopt: there is no room now. A short body takes none, and one alone always has room.
  [[nodiscard]] std::optional<Share> take(std::size_t bytes) {
    if (bytes <= kPipelinedBytesMax) return Share(*this, 0);
    std::size_t used = used_;
    do {
      const bool fits = bytes <= kWebBodiesMax && used <= kWebBodiesMax - bytes;
      if (!fits && used > 0) return std::nullopt;
    } while (!used_.compare_exchange_weak(used, used + bytes));
    return Share(*this, bytes);
  }

 private:
  std::atomic<std::size_t> used_ = 0;
};

}  // namespace millrace::server
