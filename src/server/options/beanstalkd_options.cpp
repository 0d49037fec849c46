#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "base/check.hpp"
#include "beanstalk/settings.hpp"
#include "journal/file/file_journal_options.hpp"
#include "server/options/option_rows.hpp"
#include "server/options/other_options.hpp"

namespace millrace::server {
namespace {

constexpr int kExitUsage = 5;
constexpr int kExitListen = 111;

/// The interval between syncs without -f and -F.
constexpr std::uint64_t kSyncIntervalMs = 50;

/// The size of beanstalkd's files without -s.
constexpr std::uint64_t kBinlogBytes = 10485760;

constexpr const char* kUsage =
    "Use: beanstalkd [OPTIONS]\n"
    "\n"
    "This is Millrace " MILLRACE_VERSION
    ", started under the name beanstalkd.\n"
    "\n"
    "Options:\n"
    " -b DIR   keep a journal in this directory (default is no journal)\n"
    " -f MS    sync the journal every MS milliseconds (default is 50);\n"
    "          0 means before each reply\n"
    " -F       never sync the journal; the system decides when to write it\n"
    " -l ADDR  listen on address, or on unix:PATH (default is 0.0.0.0)\n"
    " -p PORT  listen on port (default is 11300)\n"
    " -u USER  become user and group\n"
    " -z BYTES set the maximum job size in bytes (default is 65535);\n"
    "          at most 1073741824\n"
    " -s BYTES size of a journal file (default is by the volume, at most 67108864);\n"
    "          at least 1048576\n"
    " -v       show version information\n"
    " -V       print each port, and each connection that is opened or closed\n"
    " -h       show this help\n";

/// size = *SP [ "+" / "-" ] 1*DIGIT. A number that is too large or negative becomes the largest
/// number, as in beanstalkd.
std::optional<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
  const bool is_beyond = error == std::errc::result_out_of_range || (is_negative && number > 0);
  return is_beyond ? kMax : number;
}

/// beanstalkd gives the text to getaddrinfo, which accepts names (`http`) and takes numbers modulo
/// 65536. So do we.
std::optional<std::uint16_t> find_port(const std::string& text) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(nullptr, text.c_str(), &hints, &found) != 0) return std::nullopt;
  const std::uint16_t port = ntohs(reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_port);
  freeaddrinfo(found);
  return port;
}

/// beanstalkd prints nothing without -V, and ends by any signal that it does not handle.
constexpr Personality kPersonality{.announcement = Personality::Announcement::kNone,
                                   .reloads = false,
                                   .waits_for_clients = false,
                                   .makes_directory = false};

class Reader {
 public:
  explicit Reader(const std::vector<std::string>& arguments) : arguments_(arguments) {
    read_.config.personality = kPersonality;
    read_.config.is_volatile = true;
    read_.config.binlog_bytes_max = kBinlogBytes;
    read_.config.insecure = {.beanstalk = true};
    read_.config.faktory.reset();
    read_.config.web.reset();
    read_.config.sync = interval(kSyncIntervalMs);
  }

  OtherInvocation read() {
    for (; next_ < arguments_.size() && !read_.exit_status;) read_argument(arguments_[next_++]);
    if (!read_.exit_status) read_.config.beanstalk = address();
    if (file_bytes_) read_.config.segment_bytes = segment_bytes(*file_bytes_);
    return std::move(read_);
  }

 private:
  void read_argument(std::string_view argument) {
    if (argument.size() < 2 || argument.front() != '-') {
      return refuse("unknown argument: " + std::string(argument));
    }
    for (std::size_t at = 1; at < argument.size() && !read_.exit_status; ++at) {
      if (takes_value(argument[at])) return read_value(argument[at], argument.substr(at + 1));
      read_switch(argument, at);
    }
  }

  static bool takes_value(char flag) {
    return flag != 'F' && std::ranges::any_of(kOptionRows, [=](const OptionRow& row) {
             return std::string_view(row.others.beanstalkd).find(flag) != std::string_view::npos;
           });
  }

  void read_switch(std::string_view argument, std::size_t at) {
    switch (argument[at]) {
      case 'F':
        read_.config.sync = {.mode = SyncChoice::Mode::kOff};
        break;
      case 'c':
      case 'n':
        say(std::string("-") + argument[at] + " flag was removed. binlog is always compacted.");
        break;
      case 'V':
        read_.config.personality.announcement = Personality::Announcement::kBeanstalkd;
        break;
      case 'v':
        read_.output += "beanstalkd " + beanstalk::Settings{}.version + "\n";
        read_.exit_status = 0;
        break;
      case 'h':
        read_.errors += kUsage;
        read_.exit_status = 0;
        break;
      default:
        refuse("unknown flag: " + std::string(argument.substr(at - 1)));
    }
  }

  /// The value follows the flag directly, or is the next argument.
  void read_value(char flag, std::string_view attached) {
    if (attached.empty()) {
      if (next_ == arguments_.size()) {
        return refuse(std::string("flag requires an argument: -") + flag);
      }
      attached = arguments_[next_++];
    }
    const std::string value(attached);
    switch (flag) {
      case 'l':
        // beanstalkd knows no brackets.
        host_ = without_brackets(value);
        break;
      case 'p':
        port_ = value;
        break;
      case 'u':
        read_.config.user = value;
        break;
      case 'b':
        read_.config.data = value;
        read_.config.is_volatile = false;
        break;
      default:
        read_size(flag, value);
    }
  }

  void read_size(char flag, const std::string& value) {
    const std::optional<std::uint64_t> size = parse_size(value);
    if (!size) return refuse("invalid size: " + value);
    if (flag == 'f') {
      read_.config.sync = interval(*size);
    } else if (flag == 's') {
      read_.config.binlog_bytes_max = *size;
      file_bytes_ = *size;
    } else {
      if (*size > kBodyBytesMax) {
        say("maximum job size was set to " + std::to_string(kBodyBytesMax));
      }
      read_.config.job_bytes_max = std::min<std::uint64_t>(*size, kBodyBytesMax);
    }
  }

  static SyncChoice interval(std::uint64_t milliseconds) {
    if (milliseconds == 0) return {.mode = SyncChoice::Mode::kAlways};
    // beanstalkd accepts any number, so a larger one is reduced and not refused.
    return {.mode = SyncChoice::Mode::kInterval,
            .interval = std::chrono::milliseconds(std::min(milliseconds, kSyncIntervalMaxMs))};
  }

  /// beanstalkd takes any size. A job must fit into a file.
  [[nodiscard]] std::uint64_t segment_bytes(std::uint64_t file_bytes) const {
    const std::uint64_t least =
        std::max<std::uint64_t>(journal::kSegmentBytesMin, read_.config.job_bytes_max);
    return std::clamp<std::uint64_t>(file_bytes, least, kBodyBytesMax);
  }

  Address address() {
    CHECK(!read_.exit_status);
    if (host_.starts_with(kUnixPrefix) && host_ != kUnixPrefix)
      return {.path = host_.substr(kUnixPrefix.size())};
    const std::optional<std::uint16_t> port = find_port(port_);
    if (!port) say("cannot listen: '" + port_ + "' is not a port");
    if (host_.empty()) say("cannot listen: -l needs a host");
    if (!port || host_.empty()) read_.exit_status = kExitListen;
    return {.host = host_, .port = port.value_or(0)};
  }

  void say(const std::string& text) { read_.errors += "beanstalkd: " + text + "\n"; }

  void refuse(const std::string& text) {
    say(text);
    read_.errors += kUsage;
    read_.exit_status = kExitUsage;
  }

  const std::vector<std::string>& arguments_;
  std::optional<std::uint64_t> file_bytes_;  ///< -s
  std::size_t next_ = 0;
  std::string host_ = "0.0.0.0";
  std::string port_ = "11300";
  OtherInvocation read_;
};

}  // namespace

OtherInvocation read_beanstalkd_invocation(const std::vector<std::string>& arguments) {
  OtherInvocation invocation = Reader(arguments).read();
  invocation.config.handover = read_handover();
  return invocation;
}

}  // namespace millrace::server
