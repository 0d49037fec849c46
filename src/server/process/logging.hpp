#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/types.hpp"

namespace millrace::server {

/// One thing that a log line says about its event.
struct LogField {
  LogField(std::string_view name, std::string_view text) : key(name), value(text) {}
  LogField(std::string_view name, const char* text) : key(name), value(text) {}
  LogField(std::string_view name, std::integral auto number)
      : key(name), value(std::to_string(number)) {}

  std::string_view key;
  std::string value;
};

/// Several names as one value, with commas between them.
[[nodiscard]] std::string join(const std::vector<std::string>& names);

/// Lines for the operator: `2030-01-31T12:00:00.000Z event key=value key="two words"`. Never a
/// secret and never a job's body. Any thread may log.
class Log {
 public:
  /// Given each line whole, with its line feed.
  using Sink = std::function<void(std::string_view line)>;

  /// What becomes of routine events.
  enum class Routine { kLogged, kLeftOut };

  /// Writes to stderr.
  explicit Log(Routine routine = Routine::kLogged);
  explicit Log(Sink sink, Routine routine = Routine::kLogged)
      : sink_(std::move(sink)), routine_(routine) {}

  /// Something that an operator should know of.
  void event(std::string_view name, std::initializer_list<LogField> fields = {}) const;

  /// Something that is part of every run, such as its end.
  void routine(std::string_view name, std::initializer_list<LogField> fields = {}) const;

 private:
  Sink sink_;
  Routine routine_;
};

/// Lets an event that may repeat endlessly be logged once in an interval.
class LogLimit {
 public:
  explicit LogLimit(Duration interval) : interval_(interval) {}

  /// True when it may be logged now.
  [[nodiscard]] bool admits(Time now);

  /// How many were not admitted before the last that was.
  [[nodiscard]] std::uint64_t skipped() const { return skipped_; }

 private:
  Duration interval_;
  Time next_ = Time::min();
  std::uint64_t skipped_ = 0;
  std::uint64_t skipping_ = 0;
};

}  // namespace millrace::server
