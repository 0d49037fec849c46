#pragma once

#include "server/net/loop.hpp"

namespace millrace::server {

/// Gives memory that was freed back to the system: a tenth of a second later while the program
/// allocates and frees, and a second later at most, by a timer, where it is at rest. Does nothing
/// where the program is not linked with jemalloc.
class MemoryReturn {
 public:
  explicit MemoryReturn(Loop& loop);

 private:
  void wait();

  Timer timer_;
};

}  // namespace millrace::server
