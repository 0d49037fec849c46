#include "cli/interrupts.hpp"

#include <unistd.h>

#include <csignal>
#include <cstring>
#include <ctime>

namespace millrace::cli {
namespace {

/// `nohup` has us ignore the end of the terminal.
bool hears_of_terminal() {
  struct sigaction present {};
  sigaction(SIGHUP, nullptr, &present);
  return present.sa_handler != SIG_IGN;
}

sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  if (hears_of_terminal()) sigaddset(&signals, SIGHUP);
  return signals;
}

void handle_ending(void (*handler)(int)) {
  std::signal(SIGINT, handler);
  std::signal(SIGTERM, handler);
  if (hears_of_terminal()) std::signal(SIGHUP, handler);
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

Interrupts::Interrupts() {
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

Interrupts::~Interrupts() {
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

bool Interrupts::wait(std::chrono::milliseconds at_most) {
  const sigset_t signals = ending_signals();
  const timespec time{.tv_sec = static_cast<std::time_t>(at_most.count() / 1000),
                      .tv_nsec = static_cast<long>(at_most.count() % 1000 * 1'000'000)};
  return sigtimedwait(&signals, nullptr, &time) > 0;
}

Interrupts::Ending::Ending(Exit status, const char* text) {
  ending_status = static_cast<int>(status);
  ending_text = text;
  handle_ending(end_program);
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

Interrupts::Ending::~Ending() {
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  handle_ending(SIG_DFL);
}

}  // namespace millrace::cli
