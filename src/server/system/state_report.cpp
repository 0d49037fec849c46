#include "server/system/state_report.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace millrace::server {
namespace {

namespace fs = std::filesystem;

/// A step that takes longer hangs. Slices take milliseconds.
constexpr auto kStepMax = std::chrono::seconds(1);
constexpr auto kReportLook = std::chrono::milliseconds(10);

/// The server has some twenty.
constexpr std::size_t kThreadsLogged = 100;

std::string line_in_file(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

/// The letter that follows the name in brackets in `stat`: R runs, S sleeps, D waits for a disk.
std::string state_letter(const std::string& stat) {
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos ? "?" : stat.substr(std::min(name_end + 2, stat.size()), 1);
}

/// As `addr2line -e FILE OFFSET` takes it.
std::string place_of_frame(std::uintptr_t address) {
  Dl_info info{};
  std::ostringstream text;
  if (dladdr(reinterpret_cast<void*>(address), &info) == 0 || info.dli_fname == nullptr) {
    text << "0x" << std::hex << address;
    return text.str();
  }
  const auto base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  text << fs::path(info.dli_fname).filename().string() << "+0x" << std::hex << address - base;
  return text.str();
}

std::string text_of_stack(const std::vector<std::uintptr_t>& stack) {
  std::vector<std::string> places;
  places.reserve(stack.size());
  std::transform(stack.begin(), stack.end(), std::back_inserter(places), place_of_frame);
  return join(places);
}

}  // namespace

StateReport::StateReport(Signals& signals, const LoopStep& step, const Log& log)
    : signals_(signals),
      step_(step),
      log_(log),
      thread_([this](const std::stop_token& end) { run(end); }) {
  pthread_setname_np(thread_.native_handle(), "state");
}

StateReport::~StateReport() {
  thread_.request_stop();
  signals_.wake_reporter();
}

void StateReport::run(const std::stop_token& end) {
  for (signals_.wait_for_report(); !end.stop_requested(); signals_.wait_for_report()) report(end);
}

void StateReport::report(const std::stop_token& end) {
  std::mutex mutex;
  std::condition_variable_any is_over;
  std::unique_lock lock(mutex);
  const std::string step = step_.name();
  const std::uint64_t count = step_.count();
  const std::string stack = text_of_stack(signals_.stack());
  log_threads();
  // The signal has woken a loop that was idle.
  for (auto waited = 0ms; waited < kStepMax && step_.count() == count; waited += kReportLook) {
    is_over.wait_for(lock, end, kReportLook, [] { return false; });
    if (end.stop_requested()) return;
  }
  log_.event("state_main_loop", {{"step", step},
                                 {"goes_on", step_.count() == count ? "no" : "yes"},
                                 {"steps", count},
                                 {"stack", stack}});
}

void StateReport::log_threads() const {
  std::error_code error;
  std::size_t logged = 0;
  for (fs::directory_iterator each("/proc/self/task", error), end;
       !error && each != end && logged < kThreadsLogged; each.increment(error), ++logged) {
    const fs::path& task = each->path();
    log_.event("state_thread", {{"id", task.filename().string()},
                                {"name", line_in_file(task / "comm")},
                                {"state", state_letter(line_in_file(task / "stat"))},
                                {"waits_in", line_in_file(task / "wchan")}});
  }
}

}  // namespace millrace::server
