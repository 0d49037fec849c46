#pragma once

#include <vector>

#include "journal/posix/descriptor.hpp"

namespace millrace::server {

class IoThread;

/// Knows that a client has closed as soon as the system does, which may be before the I/O thread of
/// its socket does. An epoll set that waits for ends only, so input does not wake it.
class EndWatch {
 public:
  /// Throws `std::system_error` when there is no descriptor for it.
  EndWatch();

  /// `descriptor`: of a socket of `thread`. False: the system has no room to watch it.
  [[nodiscard]] bool add(int descriptor, IoThread& thread);

  /// Before the socket is closed.
  void remove(int descriptor);

  /// The threads of the clients that have closed since the last call, each thread once.
  [[nodiscard]] std::vector<IoThread*> take();

 private:
  journal::Descriptor set_;
};

}  // namespace millrace::server
