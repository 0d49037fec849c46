#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

namespace millrace::server {

enum class LogFormat;

/// Writes lines to stderr or stdout, and waits for nobody: a line that cannot be written at once is
/// left out. The next one that can be follows an event `log_lines_lost count=N`. Thread-safe.
class LineWriter {
 public:
  /// The descriptor stays as it is, since other processes may share it, and outlives the writer.
  explicit LineWriter(int descriptor, LogFormat format = LogFormat{});
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  /// `lines` end with a line feed.
  void write(std::string_view lines);

  /// How many calls of `write` have left out something.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  [[nodiscard]] bool put(std::string_view text);

  const LogFormat format_;
  const int shared_;
  const int own_;  ///< leads to the same place and never waits; -1: none
  std::mutex mutex_;
  std::atomic<std::uint64_t> lost_ = 0;
  std::uint64_t told_ = 0;  ///< of those lost
  bool is_torn_ = false;    ///< the last line that was begun has no end
};

/// Waits until a line can be written to the descriptor at once, for a second at most. False: it
/// cannot. For the line that says why a process ends. Allocates nothing.
[[nodiscard]] bool wait_for_reader(int descriptor);

}  // namespace millrace::server
