#include "server/process/logging.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.hpp"

namespace millrace::server {
namespace {

bool is_plain(char c) {
  return c > ' ' && c != '"' && c != '=' && c != '\\' && c != '\x7f';
}

void append_value(std::string_view value, std::string& line) {
  if (!value.empty() && std::all_of(value.begin(), value.end(), is_plain)) {
    line += value;
    return;
  }
  std::string quoted;
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  line += '"' + harmless(quoted) + '"';
}

std::string json_line(std::string_view time, std::string_view name,
                      std::initializer_list<LogField> fields) {
  nlohmann::ordered_json line{{"time", time}, {"event", name}};
  for (const LogField& field : fields) {
    line[std::string(field.key)] = field.value;
    if (field.is_number) line[std::string(field.key)] = nlohmann::json::parse(field.value);
  }
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string timestamp(std::chrono::system_clock::time_point at) {
  // Rounded down, also before 1970.
  const auto second = std::chrono::floor<std::chrono::seconds>(at);
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(at - second).count();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(second);
  std::tm calendar{};
  gmtime_r(&seconds, &calendar);
  char text[40];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &calendar);
  std::string line(text, size);
  std::snprintf(text, sizeof text, ".%03dZ", static_cast<int>(milliseconds));
  return line += text;
}

std::string seconds_text(Duration duration) {
  const auto tenths = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

Log::Log(Routine routine, LogFormat format)
    // Shared with the sink.
    : stderr_(std::make_shared<LineWriter>(STDERR_FILENO, format)),
      sink_([output = stderr_](std::string_view line) { output->write(line); }),
      routine_(routine),
      format_(format) {}

void Log::event(std::string_view name, std::initializer_list<LogField> fields) const {
  std::string line = timestamp(std::chrono::system_clock::now());
  if (format_ == LogFormat::kJson) return sink_(json_line(line, name, fields));
  line += ' ';
  line += name;
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    append_value(field.value, line);
  }
  line += '\n';
  sink_(line);
}

void Log::routine(std::string_view name, std::initializer_list<LogField> fields) const {
  if (routine_ == Routine::kLogged) event(name, fields);
}

bool LogLimit::admits(Time now) {
  if (now < next_) {
    ++skipping_;
    return false;
  }
  next_ = now + interval_;
  skipped_ = skipping_;
  skipping_ = 0;
  return true;
}

/// The texts of an engine change while its state does not, as with several hosts that are tried in
/// turn.
void ProblemPeriod::tell(const Log& log, const std::string& problem, Time now) {
  if (problem.empty()) {
    if (std::exchange(is_logged_, false)) log.event(options_.over);
    not_before_ = std::min(not_before_, now + options_.gap);
    return;
  }
  if (now < not_before_) return;
  not_before_ = now + kProblemAgain;
  is_logged_ = true;
  log.event(options_.begun, {{"problem", one_line(problem, kProblemBytesMax)}});
}

}  // namespace millrace::server
