#include "server/system/signals.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <system_error>

#include "base/check.hpp"

namespace millrace::server {
namespace {

/// The ends of pipes that the handler writes to; -1: nobody wants to know.
std::atomic<int> pipe_end = -1;
std::atomic<int> report_end = -1;
static_assert(std::atomic<int>::is_always_lock_free, "a handler must not wait");

/// Of the main thread, noted by the handler. A reader may see those of two signals mixed.
constexpr std::size_t kFramesMax = 64;
std::array<std::atomic<std::uintptr_t>, kFramesMax> frames;
std::atomic<std::size_t> frame_count = 0;

_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* /*unused*/) {
  const std::size_t place = frame_count.load();
  if (place == kFramesMax) return _URC_END_OF_STACK;
  frames[place] = _Unwind_GetIP(context);
  frame_count = place + 1;
  return _URC_NO_REASON;
}

void note_stack() {
  frame_count = 0;
  if (::gettid() == ::getpid()) (void)_Unwind_Backtrace(note_frame, nullptr);
}

void write_byte(int end, int number) {
  const auto byte = static_cast<char>(number);
  // With a full pipe the signal is lost. Thousands are then waiting to be told already.
  [[maybe_unused]] const ssize_t written = ::write(end, &byte, 1);
}

void note(int number, siginfo_t* info, void* context);

void handle(int number) {
  struct sigaction action {};
  action.sa_sigaction = note;
  // System calls of other threads, the journal's among them, go on as if nothing had happened.
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  CHECK(::sigaction(number, &action, nullptr) == 0);
}

void restore(int number) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  CHECK(::sigaction(number, &action, nullptr) == 0);
}

/// What the system would have done, until somebody lets the process go on.
void stop_process(int number) {
  restore(number);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  ::raise(number);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  handle(number);
}

/// Runs in any thread, in the midst of anything: it may do little more than write(2).
void note(int number, siginfo_t* info, void* /*context*/) {
  const int saved = errno;
  const bool is_of_terminal = info->si_code == SI_KERNEL;
  if (number == SIGTSTP && is_of_terminal) {
    stop_process(number);
  } else {
    if (number == SIGTTIN) note_stack();
    write_byte(number == SIGTTIN ? report_end : pipe_end, number);
  }
  errno = saved;
}

/// The end to read from; the other one is `written`.
int open_pipe(std::atomic<int>& written, int flags) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | flags) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  CHECK(written.exchange(ends[1]) == -1);
  // A handler must not wait.
  CHECK(::fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
  return ends[0];
}

}  // namespace

Signals::Signals(std::vector<int> numbers)
    : arrived_(open_pipe(pipe_end, O_NONBLOCK)), asked_(open_pipe(report_end, 0)) {
  // What it loads when it is used first is there, then.
  note_stack();
  frame_count = 0;
  add(numbers);
}

Signals::~Signals() {
  for (const int number : numbers_) restore(number);
  ::close(arrived_);
  ::close(asked_);
  ::close(pipe_end.exchange(-1));
  ::close(report_end.exchange(-1));
}

void Signals::add(const std::vector<int>& numbers) {
  numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  for (const int number : numbers) handle(number);
}

std::vector<int> Signals::take() {
  std::array<char, 64> numbers{};
  const ssize_t count = ::read(arrived_, numbers.data(), numbers.size());
  if (count <= 0) return {};
  return {numbers.begin(), numbers.begin() + count};
}

void Signals::wait_for_report() {
  std::array<char, 4096> asked{};
  while (::read(asked_, asked.data(), asked.size()) < 0 && errno == EINTR) {
  }
  write_byte(pipe_end, SIGTTIN);
}

void Signals::wake_reporter() {
  write_byte(report_end, 0);
}

std::vector<std::uintptr_t> Signals::stack() const {
  const std::size_t count = std::min(frame_count.load(), kFramesMax);
  return {frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(count)};
}

void ignore_stray_signals() {
  // SIGTTOU: a line of the log for a terminal that another program has. SIGXCPU: the kernel ends
  // the process at the hard limit. The others are for programs that asked for them.
  for (const int number : {SIGPIPE, SIGXFSZ, SIGTTOU, SIGXCPU, SIGALRM, SIGVTALRM, SIGPROF, SIGIO,
                           SIGPWR, SIGSTKFLT}) {
    std::signal(number, SIG_IGN);
  }
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) std::signal(number, SIG_IGN);
}

struct SignalWatch::Pipe {
  Signals& signals;
  std::function<void(int)> on_signal;  ///< empty: nobody is told
  asio::posix::stream_descriptor descriptor;
};

SignalWatch::SignalWatch(Poller& poller, Signals& signals, std::function<void(int)> on_signal)
    // Shared: see the header.
    : pipe_(std::make_shared<Pipe>(Pipe{
          .signals = signals,
          .on_signal = std::move(on_signal),
          .descriptor = asio::posix::stream_descriptor(poller.context(), signals.descriptor())})) {
  await(pipe_);
}

SignalWatch::~SignalWatch() {
  pipe_->on_signal = {};
  (void)pipe_->descriptor.release();
}

void SignalWatch::await(const std::shared_ptr<Pipe>& pipe) {  // shared as the member
  const auto tell = [pipe](const asio::error_code&) {
    if (!pipe->on_signal) return;
    for (const int number : pipe->signals.take()) {
      if (pipe->on_signal) pipe->on_signal(number);
    }
    if (pipe->on_signal) await(pipe);
  };
  pipe->descriptor.async_wait(asio::posix::stream_descriptor::wait_read, tell);
}

}  // namespace millrace::server
