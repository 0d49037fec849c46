#pragma once

#include <absl/container/btree_map.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/types.hpp"

namespace millrace {

/// A worker serves a queue that it has named in a FETCH within this time. It says nothing of it
/// while it is busy.
inline constexpr Duration kServedFor = 60s;

/// The queues that a worker has asked for, and when it last did.
class ServedQueues {
 public:
  /// More are not remembered.
  static constexpr std::size_t kCountMax = 1000;

  /// It asks for jobs of these. What it has not named for too long is forgotten.
  void note(const std::vector<std::string_view>& queues, Time now);

  [[nodiscard]] bool has(std::string_view queue, Time now) const;
  /// By name. May have some that were not named for too long: see `is_served`.
  [[nodiscard]] const absl::btree_map<std::string, Time, std::less<>>& all() const {
    return queues_;
  }

  [[nodiscard]] static bool is_served(Time asked_at, Time now) {
    return now - asked_at < kServedFor;
  }

 private:
  absl::btree_map<std::string, Time, std::less<>> queues_;
};

}  // namespace millrace
