#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "core/model/types.hpp"

namespace millrace {

/// Why a job was not pushed for somebody without a session.
struct PushRefusal {
  enum class Reason {
    kInvalid,     ///< it breaks a rule of PUSH, or names a batch that is not there
    kNotUnique,   ///< another job holds the lock that it asks for
    kNoRoom,      ///< see Refusal::kNoRoom
    kNotAllowed,  ///< its user may not push to that queue
    kStopping,    ///< the server takes no jobs any more
  };
  Reason reason;
  std::string text;  ///< one line in the words of PUSH
};

/// A job of megabytes that somebody without a session pushes. Reading it takes long, so this is
/// done outside of the broker's thread. In this order, one call at a time; after a refusal there
/// is no next one.
class PushInParts {
 public:
  virtual ~PushInParts() = default;

  /// Any thread: reads the JSON.
  [[nodiscard]] virtual Result<Done, PushRefusal> read(std::string_view json) = 0;

  /// The broker's thread: the push has come.
  virtual void begin(Time now) = 0;

  /// Any thread: applies the rules of PUSH, and makes what will be stored.
  virtual void make() = 0;

  /// The broker's thread. Refuses what was not made.
  [[nodiscard]] virtual Result<JobId, PushRefusal> put(Time now) = 0;

  /// In the place of `put`: refuses the same, and what a push would take and ignore.
  [[nodiscard]] virtual Result<Done, PushRefusal> check() const = 0;
};

}  // namespace millrace
