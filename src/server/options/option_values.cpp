#include "server/options/option_values.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string_view>

#include "base/duration.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "core/model/features/attempt.hpp"
#include "core/model/worker.hpp"
#include "engines/log_url.hpp"
#include "http/kit/text.hpp"
#include "journal/file/file_journal_options.hpp"

namespace millrace::server {
namespace {

struct OpenPort {
  std::string_view name;
  bool OpenPorts::*member;
};
constexpr OpenPort kOpenPorts[] = {{"beanstalk", &OpenPorts::beanstalk},
                                   {"faktory", &OpenPorts::faktory},
                                   {"web", &OpenPorts::web}};

struct ByteUnit {
  std::string_view name;  ///< in small letters
  std::uint64_t bytes;
};
constexpr ByteUnit kByteUnits[] = {{"", 1},
                                   {"kb", 1'000},
                                   {"mb", 1'000'000},
                                   {"gb", 1'000'000'000},
                                   {"tb", 1'000'000'000'000},
                                   {"kib", std::uint64_t{1} << 10},
                                   {"mib", std::uint64_t{1} << 20},
                                   {"gib", std::uint64_t{1} << 30},
                                   {"tib", std::uint64_t{1} << 40}};

/// Larger counts are typing mistakes.
constexpr std::uint64_t kCountMax = 1'000'000'000;

Outcome<std::uint64_t> read_number(const std::string& text, std::uint64_t min, std::uint64_t max) {
  const auto number = parse_number<std::uint64_t>(text);
  if (!number || *number < min || *number > max) {
    return Problem{"'" + text + "' is not a number from " + std::to_string(min) + " to " +
                   std::to_string(max)};
  }
  return *number;
}

Outcome<std::uint64_t> parse_bytes(const std::string& text, std::uint64_t min, std::uint64_t max) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_number<std::uint64_t>(std::string_view(text).substr(0, end));
  const auto* const unit = std::ranges::find(
      kByteUnits, lower_case(std::string_view(text).substr(end)), &ByteUnit::name);
  const bool fits = number && unit != std::end(kByteUnits) && *number <= max / unit->bytes;
  if (fits && *number * unit->bytes >= min) return *number * unit->bytes;
  return Problem{"'" + text + "' is not a size from " + std::to_string(min) + " to " +
                 std::to_string(max) + " bytes, such as 70000, 64KiB or 2GB"};
}

/// What plain numbers count.
constexpr const char* name_of_unit(std::chrono::seconds) {
  return "seconds";
}
constexpr const char* name_of_unit(std::chrono::milliseconds) {
  return "milliseconds";
}

/// In the largest unit of which it is a multiple.
std::string show_time(std::chrono::milliseconds time) {
  if (time % 1h == 0ms) return std::to_string(time / 1h) + "h";
  if (time % 1min == 0ms) return std::to_string(time / 1min) + "m";
  if (time % 1s == 0ms) return std::to_string(time / 1s) + "s";
  return std::to_string(time / 1ms) + "ms";
}

template <typename Unit>
Outcome<Unit> read_time(const std::string& text, Unit min, Unit max) {
  const auto time = parse_whole<Unit>(text);
  if (time && *time >= min && *time <= max) return *time;
  return Problem{http::concat("'", text, "' is not a time from ",
                              min.count() == 0 ? "0" : show_time(min), " to ", show_time(max),
                              " in whole ", name_of_unit(min))};
}

/// The minimum leaves room for some jobs. The maximum is more than any machine has.
constexpr std::uint64_t kMemoryBytesMax = std::uint64_t{1} << 50;
constexpr std::uint64_t kMemoryBytesMin = std::uint64_t{64} << 10;

template <typename Member, typename Value>
Outcome<Done> store(Member& member, const Outcome<Value>& value) {
  if (!value) return value.error();
  member = static_cast<Member>(*value);
  return Done{};
}

bool is_line(std::string_view text, std::size_t bytes_max) {
  const bool has_control = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
  });
  return !text.empty() && text.size() <= bytes_max && !has_control && is_utf8(text);
}

}  // namespace

Outcome<Done> set_text(std::string& member, const std::string& text) {
  if (text.empty()) return Problem{"must not be empty"};
  member = text;
  return Done{};
}

Outcome<Done> set_description(std::string& member, const std::string& text) {
  if (!is_line(text, 255)) return Problem{"must be one line of 1 to 255 bytes"};
  member = text;
  return Done{};
}

Outcome<Done> set_server_name(ServerName& member, const std::string& text) {
  constexpr std::array<std::string_view, 6> kColors = {"red",  "orange", "green",
                                                       "blue", "purple", "gray"};
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string name = text.substr(0, colon);
  if (!is_line(name, 40)) return Problem{"must be one line of 1 to 40 bytes"};
  std::string color = name.starts_with("prod") ? "red" : "blue";
  if (colon < text.size()) color = text.substr(colon + 1);
  if (std::find(kColors.begin(), kColors.end(), color) == kColors.end()) {
    return Problem{"'" + color + "' is not red, orange, green, blue, purple or gray"};
  }
  member = {.text = name, .color = color};
  return Done{};
}

Outcome<Done> set_address(std::optional<Address>& member, const std::string& text) {
  member.reset();
  if (text == "off") return Done{};
  return store(member, parse_address(text));
}

Outcome<Done> set_names(std::vector<std::string>& member, const std::string& text) {
  member.clear();
  std::istringstream names(lower_case(text));
  for (std::string part; std::getline(names, part, ',');) {
    std::string name(trimmed(part));
    // Requests are compared without it, too.
    if (name.ends_with('.')) name.pop_back();
    constexpr const char* kNameBytes = "abcdefghijklmnopqrstuvwxyz0123456789._-";
    const bool is_name = !name.empty() && name.front() != '.' &&
                         name.find_first_not_of(kNameBytes) == std::string::npos;
    if (!is_name) return Problem{"'" + name + "' is not a valid host name"};
    member.push_back(name);
  }
  return Done{};
}

Outcome<Done> set_sync(SyncChoice& member, const std::string& text) {
  constexpr std::string_view kInterval = "interval:";
  if (text == "always") {
    member = {.mode = SyncChoice::Mode::kAlways};
  } else if (text == "off") {
    member = {.mode = SyncChoice::Mode::kOff};
  } else if (text.starts_with(kInterval)) {
    const auto interval = read_time(text.substr(kInterval.size()), 1ms,
                                    std::chrono::milliseconds(kSyncIntervalMaxMs));
    if (!interval) return Problem{"interval: " + interval.error().text};
    member = {.mode = SyncChoice::Mode::kInterval, .interval = *interval};
  } else {
    return Problem{"'" + text + "' is not always, interval:MS or off"};
  }
  return Done{};
}

Outcome<Done> set_size(std::size_t& member, const std::string& text) {
  return store(member, parse_bytes(text, 0, kBodyBytesMax));
}

Outcome<Done> set_segment_size(std::uint64_t& member, const std::string& text) {
  return store(member, parse_bytes(text, journal::kSegmentBytesMin, kBodyBytesMax));
}

Outcome<Done> set_memory(std::uint64_t& member, const std::string& text) {
  const auto size = text == "0" ? 0 : parse_bytes(text, kMemoryBytesMin, kMemoryBytesMax);
  if (!size) return Problem{size.error().text + ", or 0 for no limit"};
  member = *size;
  return Done{};
}

Outcome<Done> set_count(std::uint64_t& member, const std::string& text) {
  return store(member, read_number(text, 0, kCountMax));
}

Outcome<Done> set_timeout(std::optional<Duration>& member, const std::string& text) {
  if (text == "off") {
    member.reset();
    return Done{};
  }
  const auto seconds = read_time<std::chrono::seconds>(
      text, std::chrono::floor<std::chrono::seconds>(kWorkerTimeoutMin), 24h);
  if (!seconds) return Problem{seconds.error().text + ", or off"};
  member = *seconds;
  return Done{};
}

Outcome<Done> set_pushes(PushRules& member, const std::string& text) {
  if (text == "on" || text == "off") {
    member = {.is_on = text == "on"};
    return Done{};
  }
  const auto seconds =
      read_time(text, 0s, std::chrono::floor<std::chrono::seconds>(PushOnce::kAfterEndMax));
  if (!seconds) return Problem{seconds.error().text + ", or on or off"};
  member = {.is_on = true, .after_end = *seconds};
  return Done{};
}

Outcome<Done> set_finished(FinishedJobs::Limits& member, const std::string& text) {
  const std::size_t comma = text.find(',');
  const auto jobs = read_number(text.substr(0, comma), 0, FinishedJobs::kJobsMax);
  if (!jobs) return jobs.error();
  member.jobs_max = *jobs;
  if (comma == std::string::npos) return Done{};
  const std::string text_of_age = text.substr(comma + 1);
  const auto age = parse_duration(text_of_age);
  if (!age || *age < 1s || *age > FinishedJobs::kAgeMax) {
    return Problem{"'" + text_of_age + "' is not an age such as 90s, 30m, 24h or 7d, up to 365d"};
  }
  member.age_max = *age;
  return Done{};
}

Outcome<Done> set_io_threads(std::optional<std::size_t>& member, const std::string& text) {
  if (text == "auto") {
    member.reset();
    return Done{};
  }
  const auto count = read_number(text, 0, kIoThreadsMax);
  if (!count) return Problem{count.error().text + ", or auto"};
  member = static_cast<std::size_t>(*count);
  return Done{};
}

Outcome<Done> set_poison_after(std::uint32_t& member, const std::string& text) {
  // A job remembers so many of its runs.
  return store(member, read_number(text, 0, Attempts::kCountMax));
}

Outcome<Done> set_mode(std::optional<unsigned>& member, const std::string& text) {
  constexpr int kOctal = 8;
  constexpr unsigned kOwner = 0600;
  constexpr unsigned kMost = 0777;
  const auto mode = parse_number<unsigned>(text, kOctal);
  if (!mode || *mode > kMost || (*mode & kOwner) != kOwner) {
    return Problem{"'" + text + "' is not an octal mode from 600 to 777, such as 660"};
  }
  member = mode;
  return Done{};
}

Outcome<Done> set_switch(bool& member, const std::string& text) {
  if (text == "true" || text == "1" || text == "yes" || text == "on") {
    member = true;
  } else if (text == "false" || text == "0" || text == "no" || text == "off") {
    member = false;
  } else {
    return Problem{"'" + text + "' is not on or off, true or false"};
  }
  return Done{};
}

Outcome<Done> set_open_ports(OpenPorts& member, const std::string& text) {
  member = {};
  if (set_switch(member.beanstalk, text)) return Done{};
  for (std::size_t at = 0; at <= text.size();) {
    const std::string name = text.substr(at, text.find(',', at) - at);
    at += name.size() + 1;
    const auto* const port = std::ranges::find(kOpenPorts, name, &OpenPort::name);
    if (port == std::end(kOpenPorts)) {
      return Problem{"unknown port '" + name +
                     "': use beanstalk, faktory or web, separated by commas"};
    }
    member.*port->member = true;
  }
  return Done{};
}

Outcome<Done> set_node(std::string& member, const std::string& text) {
  const auto is_fit = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  if (text.empty() || text.size() > kNodeBytesMax || !std::ranges::all_of(text, is_fit)) {
    return Problem{"'" + text + "' is not 1 to 64 letters, digits, '-', '_' and '.'"};
  }
  member = text;
  return Done{};
}

Outcome<Done> set_lease(std::chrono::milliseconds& member, const std::string& text) {
  return store(member, read_time(text, std::chrono::milliseconds(kLeaseMinMs),
                                 std::chrono::milliseconds(kLeaseMaxMs)));
}

Outcome<Done> set_log_format(LogFormat& member, const std::string& text) {
  if (text != "text" && text != "json") return Problem{"'" + text + "' is not text or json"};
  member = text == "json" ? LogFormat::kJson : LogFormat::kText;
  return Done{};
}

Outcome<Done> set_log(std::string& member, const std::string& text) {
  if (auto checked = engines::check_log_url(text); !checked) return checked;
  member = text;
  return Done{};
}

// ---- for people ---------------------------------------------------------------------------------

std::string shown_text(bool is_on) {
  return is_on ? "yes" : "no";
}

std::string shown_text(std::uint32_t number) {
  return std::to_string(number);
}

std::string shown_text(std::uint64_t number) {
  return std::to_string(number);
}

std::string shown_text(const std::string& text) {
  return text.empty() ? "none" : text;
}

std::string shown_text(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return shown_text(all);
}

std::string shown_text(const std::optional<Address>& address) {
  return address ? address->text() : "off";
}

std::string shown_text(const std::optional<Duration>& timeout) {
  return timeout ? std::to_string(*timeout / 1s) + "s" : "off";
}

std::string shown_text(LogFormat format) {
  return format == LogFormat::kJson ? "json" : "text";
}

std::string shown_text(const OpenPorts& ports) {
  std::vector<std::string> names;
  for (const auto& [name, member] : kOpenPorts) {
    if (ports.*member) names.emplace_back(name);
  }
  return shown_text(names);
}

std::string shown_text(const ServerName& name) {
  return shown_text(name.text);
}

std::string shown_text(const SyncChoice& sync) {
  if (sync.mode == SyncChoice::Mode::kAlways) return "always";
  if (sync.mode == SyncChoice::Mode::kOff) return "off";
  return "interval:" + std::to_string(sync.interval.count());
}

std::string shown_text(const PushRules& pushes) {
  if (!pushes.is_on) return "off";
  return pushes.after_end == Duration{} ? "on" : std::to_string(pushes.after_end / 1s) + "s";
}

std::string shown_text(const FinishedJobs::Limits& finished) {
  return std::to_string(finished.jobs_max) + "," + std::to_string(finished.age_max / 1s) + "s";
}

std::string shown_text(const std::optional<unsigned>& mode) {
  if (!mode) return "by the umask";
  std::string digits;
  for (int shift = 6; shift >= 0; shift -= 3) {
    digits += static_cast<char>('0' + (*mode >> shift & 7));
  }
  return digits;
}

}  // namespace millrace::server
