#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/rope.hpp"
#include "faktory/json/compactor.hpp"

namespace millrace::faktory {

/// A line of ACK, FAIL, BEAT or TRACK SET that may be very long: a FAIL that is refused would leave
/// its job reserved, and its cause unknown. It is read as it arrives, and no more is kept than is
/// read of it: the members that the server knows, with the beginning of what is long in them.
class LongReport {
 public:
  LongReport() = default;
  LongReport(const LongReport&) = delete;
  LongReport& operator=(const LongReport&) = delete;

  /// Takes the next bytes of the line. The first ones have its verb and the bracket of its object.
  void add(std::string_view bytes);

  /// The line is over. The answer is a line with what was kept. Of an object that is no JSON it has
  /// the problem instead, so that it is refused like any other.
  [[nodiscard]] std::string finish();

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t kept_bytes() const { return kept_.size(); }

 private:
  std::string verb_;
  Rope kept_;
  Compactor compactor_{kExtract, kept_};
  std::optional<Problem> problem_;
  std::size_t bytes_ = 0;

  static const Compactor::Extract kExtract;
};

/// A longer line is dropped. It is far more than any client has to say.
inline constexpr std::size_t kReportBytesMax = 64 * 1024 * 1024;

}  // namespace millrace::faktory
