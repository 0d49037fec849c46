#pragma once

#include <string_view>

#include "base/result.hpp"
#include "core/model/types.hpp"
#include "core/ports/push_refusal.hpp"

namespace millrace {

/// A job of megabytes that somebody without a session pushes. Reading it takes long, so this is
/// done outside of the broker's thread. In this order, one call at a time; after a refusal there
/// is no next one.
class PushInParts {
 public:
  virtual ~PushInParts() = default;

  /// Any thread: checks the next bytes of the JSON.
  [[nodiscard]] virtual Result<Done, PushRefusal> add(std::string_view json) = 0;

  /// The broker's thread: all was added; applies the rules of PUSH.
  [[nodiscard]] virtual Result<Done, PushRefusal> make(Time now) = 0;

  /// In the place of `make`, and last: also refuses what a push would take and ignore.
  [[nodiscard]] virtual Result<Done, PushRefusal> check(Time now) = 0;

  /// Any thread: copies what will be stored.
  virtual void copy() = 0;

  /// The broker's thread.
  [[nodiscard]] virtual Result<JobId, PushRefusal> put(Time now) = 0;
};

}  // namespace millrace
