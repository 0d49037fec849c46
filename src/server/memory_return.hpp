#pragma once

#include "server/loop.hpp"

namespace millrace::server {

/// Gives memory that was freed back to the system, a second later, while the loop runs. Does
/// nothing where the program is not linked with jemalloc.
class MemoryReturn {
 public:
  explicit MemoryReturn(Loop& loop);

 private:
  void wait();

  Timer timer_;
};

}  // namespace millrace::server
