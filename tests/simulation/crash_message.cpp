#include "simulation/crash_message.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace millrace::simulation {
namespace {

constexpr std::array kDeaths = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// A signal handler can only reach globals.
std::array<char, 256> message;
std::size_t message_bytes = 0;
std::array<struct sigaction, kDeaths.size()> former;

void print_message() {
  // The process is ending: a failed write cannot be reported to anybody.
  if (::write(STDERR_FILENO, message.data(), message_bytes) < 0) return;
  message_bytes = 0;
}

/// Hands the signal on to the earlier handler. A fault comes again by itself, since the faulting
/// instruction runs again; a signal that was sent is raised again.
void die(int signal, siginfo_t* info, void* /*context*/) {
  print_message();
  for (std::size_t i = 0; i < kDeaths.size(); ++i) ::sigaction(kDeaths[i], &former[i], nullptr);
  const bool is_fault = info->si_code > 0;
  if (!is_fault) ::raise(signal);
}

}  // namespace

void set_crash_message(const std::string& text) {
  const std::string line = text + "\n";
  message_bytes = std::min(line.size(), message.size());
  std::copy_n(line.begin(), message_bytes, message.begin());
}

void print_crash_message() {
  struct sigaction action = {};
  action.sa_sigaction = die;
  action.sa_flags = SA_SIGINFO;
  for (std::size_t i = 0; i < kDeaths.size(); ++i) ::sigaction(kDeaths[i], &action, &former[i]);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_set_death_callback(print_message);
#endif
}

}  // namespace millrace::simulation
