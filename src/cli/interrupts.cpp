#include "cli/interrupts.hpp"

#include <csignal>
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

}  // namespace millrace::cli
