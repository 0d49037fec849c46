#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/kit/json.hpp"
#include "http/routes/alerts.hpp"
#include "http/routes/measures/failure_series.hpp"
#include "http/routes/measures/fleet.hpp"
#include "http/routes/measures/series.hpp"
#include "http/routes/measures/trend.hpp"

namespace millrace::http {

/// The recent past that is not in the log: what charts show.
struct Measures {
  Series& series;
  FailureSeries& failures;
  Alerts& alerts;
  Trend& trend;
  Fleet& fleet;
};

/// A copy of them that outlives the process, 30 MB at most: made in slices, in the broker's thread.
class MeasureCopy {
 public:
  /// What `measures` refers to outlives this, or is not used any more. With `block`: only the
  /// points of that, of all that was active in it; at most 4 MB.
  explicit MeasureCopy(const Measures& measures, std::optional<Block> block = std::nullopt);

  /// Copies some more. True: that was all.
  bool work();

  /// The copy as bytes. Any thread may call it, once `work` has copied all.
  [[nodiscard]] std::string encode() const;

 private:
  /// How many lines and groups a slice copies.
  static constexpr std::size_t kSlice = 20;

  void add(const char* list, const std::string& name, const Line* line);
  void add(std::uint64_t group);

  Measures measures_;
  std::optional<Block> block_;
  std::vector<std::string> queues_;
  std::vector<std::string> types_;
  std::vector<std::uint64_t> groups_;
  std::size_t next_ = 0;  ///< of these three lists, one after the other
  Json copy_;
};

/// Takes over what an earlier process had, before the first line is measured. False, and nothing is
/// taken: the bytes are damaged, or another version wrote them.
[[nodiscard]] bool restore(std::string_view bytes, const Measures& measures, Time now);

/// The points of something in a block: `list` is "queues", "types", "failures" or, without a name,
/// "server". Of failures, each has the number of them alone. Empty: the bytes do not tell of it.
[[nodiscard]] std::vector<Point> find_points(std::string_view bytes, const std::string& list,
                                             const std::string& name, const Block& block);

}  // namespace millrace::http
