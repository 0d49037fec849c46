#include "server/options/config.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/options/option_rows.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

using Names = std::vector<std::string>;

/// Applies `{"name", "value"}` of options to the defaults.
Config with(const std::vector<std::pair<std::string_view, std::string>>& values) {
  Config config;
  for (const auto& [name, value] : values) {
    const auto row =
        std::ranges::find(kOptionRows, name, [](const OptionRow& each) { return each.name; });
    REQUIRE(row != kOptionRows.end());
    REQUIRE(row->apply(config, value));
  }
  return config;
}

std::string shown(const Config& config, const std::string& name) {
  for (const auto& [option, value] : shown_options(config)) {
    if (option == name) return value;
  }
  return "(not shown)";
}

/// A value that is not the default.
std::string other_value(const OptionRow& row) {
  static const std::map<std::string_view, std::string> kByName = {{"push-once", "off"},
                                                                  {"sync", "off"},
                                                                  {"socket-mode", "607"},
                                                                  {"log-format", "json"},
                                                                  {"log", "nats://other/S"}};
  static const std::map<std::string_view, std::string> kByPlaceholder = {
      {"DIR", "/d"},          {"ADDR|off", "127.0.0.1:9"},
      {"NAMES", "a.example"}, {"FILE", "/f"},
      {"NAME[:COLOR]", "n"},  {"N", "7"},
      {"TEXT", "t"},          {"N[,AGE]", "7,1h"},
      {"TIME", "90s"},        {"NAME", "n"},
      {"MS", "500"},          {"HOST", "h"},
      {"BYTES", "1048576"},   {"USER", "u"}};
  if (row.value == nullptr) return "on";
  if (const auto found = kByName.find(row.name); found != kByName.end()) return found->second;
  const auto found = kByPlaceholder.find(row.value);
  REQUIRE_MESSAGE(found != kByPlaceholder.end(), row.name);
  return found->second;
}

/// Alone, and with a shared log: there some options are shown only.
std::vector<Config> surroundings() {
  return {Config{}, with({{"log", "nats://host/S"}})};
}

/// "500" of "How long (default: 500)"; empty: the help says none.
std::string default_in(std::string_view help) {
  constexpr std::string_view kPhrase = "(default: ";
  const std::size_t start = help.find(kPhrase);
  if (start == help.npos) return {};
  help.remove_prefix(start + kPhrase.size());
  return std::string(help.substr(0, std::min(help.find(')'), help.find(", "))));
}

}  // namespace

TEST_CASE("config: the defaults in the help are those of the program") {
  // Of these, the help describes what happens without a value.
  const Names described = {"advertise", "socket-mode"};
  for (const OptionRow& row : kOptionRows) {
    CAPTURE(row.name);
    const std::string text = default_in(row.help);
    if (text.empty() || std::ranges::count(described, row.name) > 0) continue;
    for (const Config& plain : surroundings()) {
      Config config = plain;
      REQUIRE(row.apply(config, text));
      const bool is_shown = row.shown.text != nullptr;
      REQUIRE(is_shown);
      CHECK(row.shown.text(config) == row.shown.text(plain));
    }
  }
}

TEST_CASE("config: each option is reloaded and shown by its own row") {
  for (const OptionRow& row : kOptionRows) {
    CAPTURE(row.name);
    bool is_seen = row.shown.text == nullptr;
    for (const Config& plain : surroundings()) {
      Config wanted = plain;
      REQUIRE(row.apply(wanted, other_value(row)));
      Config running = plain;
      const bool is_taken = row.reload(running, wanted);
      if (row.shown.text == nullptr) continue;
      is_seen = is_seen || row.shown.text(wanted) != row.shown.text(plain);
      CHECK(row.shown.text(running) == row.shown.text(is_taken ? wanted : plain));
    }
    CHECK(is_seen);
  }
}

TEST_CASE("config: an option of a shared log is refused without one") {
  for (const OptionRow& row : kOptionRows) {
    CAPTURE(row.name);
    const std::string flag = std::string("--") + row.name;
    const bool is_of_log = (flag.starts_with("--log-") && flag != "--log-format") ||
                           std::string_view(row.help).starts_with("With --log");
    if (!is_of_log) continue;
    const auto checked = check_together(with({{row.name, other_value(row)}}));
    REQUIRE_FALSE(checked);
    CHECK(checked.error().text == flag + " is for servers that share a log: set --log too");
  }
}

TEST_CASE("config: a reload says which changes need a restart") {
  const Config started = with({{"max-connections", "5"}, {"password-file", "/p"}});
  Config running = started;
  CHECK(reload(running, started).empty());
  CHECK(reload(running,
               with({{"max-connections", "6"}, {"password-file", "/q"}, {"max-job-size", "1"}}))
            .empty());
  const Config other = with({{"data", "/d"},
                             {"beanstalk", "off"},
                             {"faktory", "127.0.0.1:1"},
                             {"tls-cert", "/c"},
                             {"tls-key", "/k"},
                             {"dead-max-jobs", "1"},
                             {"sync", "off"},
                             {"strict-fetch", "on"},
                             {"volatile", "on"},
                             {"segment-bytes", "1048576"},
                             {"user", "u"},
                             {"socket-mode", "660"},
                             {"insecure", "on"}});
  CHECK(reload(running, other) == Names{"data", "beanstalk", "faktory", "password-file", "tls-cert",
                                        "dead-max-jobs", "sync", "strict-fetch", "volatile",
                                        "segment-bytes", "user", "socket-mode", "insecure"});
}

TEST_CASE("config: a reload exchanges a certificate, and sets a password") {
  Config running = with({{"tls-cert", "/c"}, {"tls-key", "/k"}});
  const Config wanted = with({{"tls-cert", "/d"}, {"tls-key", "/l"}, {"password-file", "/p"}});
  CHECK(reload(running, wanted).empty());
  CHECK(running.tls_key_file == "/l");
  CHECK(running.password_file == "/p");
}

TEST_CASE("config: a reload applies the options that need no restart, and no others") {
  Config running;
  running.sync.mode = SyncChoice::Mode::kOff;
  running.password_file = "/p";
  Config wanted;
  wanted.job_bytes_max = 20;
  wanted.connections_max = 3;
  wanted.description = "x";
  wanted.statsd = StatsdOptions{.location = {.host = "a", .port = 1}};
  wanted.throttles = {{.pattern = "q", .limits = {.worker = 1, .timeout_s = 1}}};
  wanted.retries = {{.queue = "q", .delays = {.factor = 2}}};
  wanted.cron = std::make_shared<const CronTable>();
  CHECK(reload(running, wanted) == Names{"password-file", "sync"});
  CHECK(running.throttles == wanted.throttles);
  CHECK(running.retries.size() == 1);
  CHECK(running.cron == wanted.cron);
  CHECK(running.sync.mode == SyncChoice::Mode::kOff);
  CHECK(running.job_bytes_max == 20);
  CHECK(running.connections_max == 3);
  CHECK(running.description == "x");
  CHECK(running.statsd == wanted.statsd);
}

TEST_CASE("config: a reload exchanges the password, but does not remove it") {
  Config running;
  Config wanted;
  wanted.password = "secret";
  CHECK(reload(running, wanted).empty());
  CHECK(running.password == "secret");
  wanted = with({{"password-file", "/p"}});
  CHECK(reload(running, wanted).empty());
  CHECK(running.password_file == "/p");
  CHECK(running.password.empty());
  // Also one that came with a reload.
  CHECK(reload(running, Config{}) == Names{"password-file"});
  CHECK(running.password_file == "/p");
}

TEST_CASE("config: the options are shown in this order") {
  Names names;
  for (const auto& [name, value] : shown_options(Config{})) names.push_back(name);
  CHECK(names == Names{"data",
                       "log",
                       "node",
                       "lease",
                       "relay",
                       "sync",
                       "strict-fetch",
                       "beanstalk",
                       "faktory",
                       "web",
                       "password",
                       "users",
                       "tls",
                       "web-read-only",
                       "web-host",
                       "name",
                       "insecure",
                       "memory-limit",
                       "segment-bytes",
                       "max-job-size",
                       "max-connections",
                       "description",
                       "dead-max-jobs",
                       "push-once",
                       "keep-finished",
                       "keep-finished-durable",
                       "worker-timeout",
                       "poison-after",
                       "extend-while-alive",
                       "statsd",
                       "user",
                       "socket-mode",
                       "io-threads",
                       "log-format",
                       "audit-log"});
}

TEST_CASE("config: the threads for sockets are a quarter of the cores, and none of few") {
  Config config;
  CHECK(shown(config, "io-threads") == "auto");
  CHECK(io_threads_on(3, config) == 0);
  CHECK(io_threads_on(4, config) == 1);
  CHECK(io_threads_on(64, config) == kIoThreadsMax);
  config.io_threads = 2;
  CHECK(shown(config, "io-threads") == "2");
  CHECK(io_threads_on(1, config) == 2);
}

TEST_CASE("config: the mode of sockets is shown in octal") {
  Config config;
  CHECK(shown(config, "socket-mode") == "by the umask");
  config.socket_mode = 0607;
  CHECK(shown(config, "socket-mode") == "607");
}

TEST_CASE("config: a password is shown as required, and never itself") {
  Config config;
  CHECK(shown(config, "password") == "none");
  config.password = "secret";
  CHECK(shown(config, "password") == "required");
  for (const auto& [option, value] : shown_options(config)) CHECK(value != "secret");
}

TEST_CASE("config: ports, limits and modes are shown in the words of the options") {
  Config config;
  config.web.reset();
  CHECK(shown(config, "beanstalk") == "127.0.0.1:11300");
  CHECK(shown(config, "web") == "off");
  CHECK(shown(config, "sync") == "always");
  CHECK(shown(config, "strict-fetch") == "no");
  CHECK(shown(config, "memory-limit") == "no limit");
  CHECK(shown(config, "keep-finished") == "10000,86400s");
  CHECK(shown(config, "worker-timeout") == "60s");
  CHECK(shown(config, "statsd") == "none");
  CHECK(shown(config, "web-host") == "none");
  config.sync = {.mode = SyncChoice::Mode::kInterval, .interval = std::chrono::milliseconds(50)};
  config.web_hosts = {"a.example", "b.example"};
  CHECK(shown(config, "sync") == "interval:50");
  CHECK(shown(config, "web-host") == "a.example, b.example");
  config.is_volatile = true;
  CHECK(shown(config, "sync") == "none (--volatile)");
  CHECK(shown(config, "data") == "none (--volatile)");
}

}  // namespace millrace::server
