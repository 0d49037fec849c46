#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/show/console.hpp"

namespace millrace::tools {

/// Tells a person how far a tool is that takes long: a line on stderr, where that is a terminal.
class ProgressLine {
 public:
  /// What is counted. Bytes are shown as MiB.
  enum class Unit { kJobs, kBytes };

  /// `all`: how many there are; 0: nobody knows.
  ProgressLine(std::string done_word, std::uint64_t all, Unit unit = Unit::kJobs);
  ~ProgressLine() { end(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// At most a few times a second, and not in the first one.
  void show(std::uint64_t done);
  /// Removes the line.
  void end() { console_.show_progress(""); }

 private:
  using Steady = std::chrono::steady_clock;

  cli::Console console_{false};
  const std::string done_word_;
  const std::uint64_t all_;
  const Unit unit_;
  const Steady::time_point began_ = Steady::now();
  Steady::time_point next_at_;
};

/// The line. `took`: since the begin.
[[nodiscard]] std::string progress_text(const std::string& done_word, std::uint64_t done,
                                        std::uint64_t all, std::chrono::duration<double> took,
                                        ProgressLine::Unit unit = ProgressLine::Unit::kJobs);

}  // namespace millrace::tools
