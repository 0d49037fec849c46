#pragma once

#include <functional>

namespace millrace {

/// Work that takes so long that no client should wait for it, done outside of the main loop. It
/// reads and writes only what it was given.
class Background {
 public:
  virtual ~Background() = default;

  /// Has `work` called, and then `done` by the thread that has called this: maybe before this
  /// returns, and not at all when the process stops. In the order of the calls.
  virtual void run(std::function<void()> work, std::function<void()> done) = 0;
};

}  // namespace millrace
