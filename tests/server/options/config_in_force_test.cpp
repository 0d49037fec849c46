#include "server/options/config_in_force.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

std::string shown(const Config& config, const std::string& name) {
  for (const auto& [option, value] : shown_options(config)) {
    if (option == name) return value;
  }
  return "(not shown)";
}

}  // namespace

TEST_CASE("config in force: a reload applies the options that need no restart, and no others") {
  Config running;
  running.sync.mode = SyncChoice::Mode::kOff;
  running.password_file = "/p";
  Config wanted;
  wanted.job_bytes_max = 20;
  wanted.connections_max = 3;
  wanted.description = "x";
  wanted.statsd = StatsdOptions{.location = {.host = "a", .port = 1}};
  wanted.throttles = {{.pattern = "q", .limits = {.worker = 1, .timeout_s = 1}}};
  const Config config = reloaded(running, wanted);
  CHECK(config.throttles == wanted.throttles);
  CHECK(config.sync.mode == SyncChoice::Mode::kOff);
  CHECK(config.job_bytes_max == 20);
  CHECK(config.connections_max == 3);
  CHECK(config.description == "x");
  CHECK(config.statsd == wanted.statsd);
}

TEST_CASE("config in force: a reload exchanges the password, but does not remove it") {
  Config running;
  running.password_file = "/p";
  CHECK(reloaded(running, Config{}).password_file == "/p");
  Config wanted;
  wanted.password = "secret";
  CHECK(reloaded(running, wanted).password == "secret");
  CHECK(reloaded(running, wanted).password_file.empty());
}

TEST_CASE("config in force: the mode of sockets is shown in octal") {
  Config config;
  CHECK(shown(config, "socket-mode") == "by the umask");
  config.socket_mode = 0607;
  CHECK(shown(config, "socket-mode") == "607");
}

TEST_CASE("config in force: a password is shown as required, and never itself") {
  Config config;
  CHECK(shown(config, "password") == "none");
  config.password = "secret";
  CHECK(shown(config, "password") == "required");
  for (const auto& [option, value] : shown_options(config)) CHECK(value != "secret");
}

TEST_CASE("config in force: ports, limits and modes are shown in the words of the options") {
  Config config;
  config.web.reset();
  CHECK(shown(config, "beanstalk") == "127.0.0.1:11300");
  CHECK(shown(config, "web") == "off");
  CHECK(shown(config, "sync") == "always");
  CHECK(shown(config, "strict-fetch") == "no");
  CHECK(shown(config, "memory-limit") == "no limit");
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
