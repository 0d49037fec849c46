#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/check.hpp"
#include "core/model/record.hpp"
#include "core/state/live_kind.hpp"

namespace millrace {

/// When the newest batches were appended, by the wall clock. A live kind of which nothing is ever
/// needed: each batch tells its own time.
class LogClock {
 public:
  /// A batch tells the time where the last one that did is at least that much older, or later. So a
  /// batch that tells none was appended less than that after the last one that did.
  static constexpr Duration kResolution = std::chrono::milliseconds(1);

  /// Whether a batch that is appended now should tell the time.
  [[nodiscard]] bool is_due(Time wall) const { return wall < last_ || wall - last_ >= kResolution; }

  // ---- as a live kind ---------------------------------------------------------------------------

  void apply(ClockRead&& record) { last_ = record.at; }
  [[nodiscard]] std::optional<Lsn> oldest_place() const { return std::nullopt; }
  void rewrite_oldest(std::string&) { CHECK(false); }
  void place(Lsn) {}
  [[nodiscard]] std::uint64_t live_bytes() const { return 0; }
  [[nodiscard]] static std::size_t memory_bytes() { return 0; }
  static constexpr AtFlush kAtFlush = AtFlush::kStay;

 private:
  Time last_{};
};

}  // namespace millrace
