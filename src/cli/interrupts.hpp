#pragma once

#include <chrono>

namespace millrace::cli {

/// While it lives, SIGINT and SIGTERM do not end the program: they are waited for.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// Waits that long at most. True: one of the signals has come.
  [[nodiscard]] bool wait(std::chrono::milliseconds at_most);
};

}  // namespace millrace::cli
