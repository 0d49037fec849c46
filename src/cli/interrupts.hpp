#pragma once

#include <chrono>
#include <csignal>

#include "cli/exit.hpp"

namespace millrace::cli {

/// The end of the terminal would end the program: it was not started by `nohup`.
[[nodiscard]] bool is_hangup_heard();

/// While it lives, SIGINT and SIGTERM do not end the program: they are waited for.
class Interrupts {
 public:
  /// Whether SIGHUP is one of them; if it was ignored, as under `nohup`, it stays so.
  enum class Hangup { kLeftAlone, kIsOne };

  explicit Interrupts(Hangup hangup = Hangup::kLeftAlone);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// Waits that long at most. True: one of the signals has come.
  [[nodiscard]] bool wait(std::chrono::milliseconds at_most);

  /// Within the life of an `Interrupts`: while this lives, too, a signal that has come or comes
  /// ends the program at once. For a call that may wait for long, and after which nothing has to be
  /// put in order. One at a time, in the only thread.
  class Ending {
   public:
    /// `text`: a literal, for stderr.
    Ending(Exit status, const char* text);
    ~Ending();
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;
  };

 private:
  sigset_t signals_;
};

}  // namespace millrace::cli
