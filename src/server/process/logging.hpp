#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/types.hpp"
#include "server/process/line_writer.hpp"

namespace millrace::server {

/// A key and its value in a log line.
struct LogField {
  LogField(std::string_view name, std::string_view text) : key(name), value(text) {}
  LogField(std::string_view name, const char* text) : key(name), value(text) {}
  LogField(std::string_view name, std::integral auto number)
      : key(name), value(std::to_string(number)), is_number(true) {}

  std::string_view key;
  std::string value;
  bool is_number = false;
};

enum class LogFormat { kText, kJson };

/// Of the text of a problem that another program wrote, so much is logged.
inline constexpr std::size_t kProblemBytesMax = 200;

/// The names as one value, separated by commas.
[[nodiscard]] std::string join(const std::vector<std::string>& names);

/// The time that a log line begins with: `2026-01-31T12:00:00.000Z`.
[[nodiscard]] std::string timestamp(std::chrono::system_clock::time_point at);

/// Seconds with tenths, as log lines have them.
[[nodiscard]] std::string seconds_text(Duration duration);

/// Log lines for the operator: `2030-01-31T12:00:00.000Z event key=value key="two words"`, or as
/// JSON
/// `{"time":"2030-01-31T12:00:00.000Z","event":"event","key":"value","other":2}`. They never have a
/// secret or the body of a job. Programs read the names of events and keys. Thread-safe.
class Log {
 public:
  /// Gets each whole line, with its line feed.
  using Sink = std::function<void(std::string_view line)>;

  /// Whether routine events are logged.
  enum class Routine { kLogged, kLeftOut };

  /// Writes to stderr, and leaves out what cannot be written at once: see `LineWriter`.
  explicit Log(Routine routine = Routine::kLogged, LogFormat format = LogFormat::kText);
  explicit Log(Sink sink, Routine routine = Routine::kLogged, LogFormat format = LogFormat::kText)
      : sink_(std::move(sink)), routine_(routine), format_(format) {}

  /// An event that the operator should know of.
  void event(std::string_view name, std::initializer_list<LogField> fields = {}) const;

  /// An event that is part of a normal run, such as its end.
  void routine(std::string_view name, std::initializer_list<LogField> fields = {}) const;

  /// Of those to stderr.
  [[nodiscard]] std::uint64_t lines_lost() const { return stderr_ ? stderr_->lost() : 0; }

 private:
  std::shared_ptr<LineWriter> stderr_;  ///< shared with the sink; null: it is another one
  Sink sink_;
  Routine routine_;
  LogFormat format_;
};

/// Limits an event that may repeat often to one line in an interval.
class LogLimit {
 public:
  explicit LogLimit(Duration interval) : interval_(interval) {}

  /// True when the event may be logged now.
  [[nodiscard]] bool admits(Time now);

  /// The number of events that were left out before the last one that was admitted.
  [[nodiscard]] std::uint64_t skipped() const { return skipped_; }

 private:
  Duration interval_;
  Time next_ = Time::min();
  std::uint64_t skipped_ = 0;
  std::uint64_t skipping_ = 0;
};

/// Tells the log of a problem that goes on: at once, then once in a while, and when it is over.
class ProblemPeriod {
 public:
  /// The names of the events. After its end the problem is not told again before `gap`, nor before
  /// it would have been told without an end, whichever comes first. The names outlive it.
  struct Options {
    const char* begun;
    const char* over;
    Duration gap{};
  };

  explicit ProblemPeriod(Options options) : options_(options) {}

  /// `problem` is what it is now; empty: there is none. Its text may change while it goes on.
  void tell(const Log& log, const std::string& problem, Time now);

 private:
  const Options options_;
  Time not_before_ = Time::min();
  bool is_logged_ = false;
};

/// What goes on is told again after that.
inline constexpr Duration kProblemAgain = std::chrono::minutes(1);

}  // namespace millrace::server
