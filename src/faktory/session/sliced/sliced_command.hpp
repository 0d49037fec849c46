#pragma once

#include <cstddef>
#include <string>

#include "core/model/types.hpp"
#include "faktory/session/shared.hpp"

namespace millrace::faktory {

/// Who began a push that runs in slices, and when.
struct PushStart {
  Time at{};
  std::string worker;  ///< its `wid`, or empty
};

/// A command at work, in slices between other clients' commands: a PUSH, PUSHB or FETCH of much.
class SlicedCommand {
 public:
  virtual ~SlicedCommand() = default;

  /// Works one slice. True: it was the last one, and all of the reply was appended to `out`.
  [[nodiscard]] virtual bool work(Shared& shared, Time now, std::string& out) = 0;

  /// The memory of what was sent, in whichever form it is kept.
  [[nodiscard]] virtual std::size_t kept_bytes() const = 0;

  /// How much of the reply was not appended yet.
  [[nodiscard]] virtual std::size_t unrendered_bytes() const { return 0; }
};

}  // namespace millrace::faktory
