#include "cli/interrupts.hpp"

#include <unistd.h>

#include <cstring>
#include <ctime>

namespace millrace::cli {
namespace {

sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

/// What the handler does. It may call few functions, and these two are among them.
volatile std::sig_atomic_t ending_status = 0;
const char* volatile ending_text = "";

void end_program(int) {
  const char* const text = ending_text;
  (void)!::write(STDERR_FILENO, text, std::strlen(text));
  ::_exit(ending_status);
}

}  // namespace

bool is_hangup_heard() {
  struct sigaction present {};
  sigaction(SIGHUP, nullptr, &present);
  return present.sa_handler != SIG_IGN;
}

Interrupts::Interrupts(Hangup hangup) : signals_(ending_signals()) {
  if (hangup == Hangup::kIsOne && is_hangup_heard()) sigaddset(&signals_, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

Interrupts::~Interrupts() {
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
}

bool Interrupts::wait(std::chrono::milliseconds at_most) {
  const timespec time{.tv_sec = static_cast<std::time_t>(at_most.count() / 1000),
                      .tv_nsec = static_cast<long>(at_most.count() % 1000 * 1'000'000)};
  return sigtimedwait(&signals_, nullptr, &time) > 0;
}

Interrupts::Ending::Ending(Exit status, const char* text) {
  ending_status = static_cast<int>(status);
  ending_text = text;
  std::signal(SIGINT, end_program);
  std::signal(SIGTERM, end_program);
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

Interrupts::Ending::~Ending() {
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace millrace::cli
