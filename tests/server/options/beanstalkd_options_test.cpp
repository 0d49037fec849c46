#include <algorithm>
#include <string>

#include "server/options/option_rows.hpp"
#include "server/options/other_options.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

OtherInvocation read(const std::vector<std::string>& arguments) {
  return read_beanstalkd_invocation(arguments);
}

Config config_of(const std::vector<std::string>& arguments) {
  const OtherInvocation invocation = read(arguments);
  REQUIRE_MESSAGE(!invocation.exit_status, invocation.errors);
  return invocation.config;
}

TEST_CASE("beanstalkd options: what nobody says is as beanstalkd has it") {
  const Config config = config_of({});
  CHECK(config.personality.announcement == Personality::Announcement::kNone);
  CHECK_FALSE(config.personality.reloads);
  CHECK_FALSE(config.personality.waits_for_clients);
  CHECK(config.beanstalk->text() == "0.0.0.0:11300");
  CHECK_FALSE(config.faktory);
  CHECK(config.is_volatile);
  CHECK((config.insecure == OpenPorts{.beanstalk = true}));
  CHECK(config.job_bytes_max == 65535);
  CHECK(config.binlog_bytes_max == 10485760);
  CHECK(config.user.empty());
}

TEST_CASE("beanstalkd options: the table of options has the flags that the help has") {
  std::string flags = "vVh";
  for (const OptionRow& row : kOptionRows) flags += row.others.beanstalkd;
  const std::string help = read_beanstalkd_invocation({"-h"}).errors;
  std::string shown;
  for (std::size_t at = help.find("\n -"); at != std::string::npos;
       at = help.find("\n -", at + 1)) {
    shown += help[at + 3];
  }
  std::sort(flags.begin(), flags.end());
  std::sort(shown.begin(), shown.end());
  CHECK(flags == shown);
}

TEST_CASE("beanstalkd options: values follow their flag, or are attached to it") {
  const Config config = config_of({"-l", "::1", "-p11400", "-uwww-data", "-z", "10", "-Vb/var"});
  CHECK(config.beanstalk->text() == "[::1]:11400");
  CHECK(config.user == "www-data");
  CHECK(config.job_bytes_max == 10);
  CHECK(config.data == "/var");
  CHECK_FALSE(config.is_volatile);
  CHECK(config.personality.announcement == Personality::Announcement::kBeanstalkd);
}

TEST_CASE("beanstalkd options: an IPv6 address may have brackets") {
  CHECK(config_of({"-l", "[::]"}).beanstalk->text() == "[::]:11300");
  CHECK(config_of({"-l", "::"}).beanstalk->text() == "[::]:11300");
}

TEST_CASE("beanstalkd options: -s is the size of journal files, which hold the longest job") {
  CHECK(config_of({}).segment_bytes == Config{}.segment_bytes);
  CHECK(config_of({"-s", "10485760"}).segment_bytes == 10485760);
  CHECK(config_of({"-s", "601"}).segment_bytes == 1 << 20);
  CHECK(config_of({"-s", "601", "-z", "5000000"}).segment_bytes == 5000000);
  CHECK(config_of({"-s", "9999999999999"}).segment_bytes == kBodyBytesMax);
}

TEST_CASE("beanstalkd options: a port is what the system's library takes it for") {
  CHECK(config_of({"-p", "70000"}).beanstalk->port == 70000 - 65536);
  CHECK(config_of({"-p", "65536"}).beanstalk->port == 0);
  CHECK(config_of({"-p", ""}).beanstalk->port == 0);
  CHECK(read({"-p", "-1"}).exit_status == 111);
  CHECK(read({"-p", "1x"}).exit_status == 111);
}

TEST_CASE("beanstalkd options: no host is a mistake, and not every address") {
  CHECK(read({"-l", ""}).exit_status == 111);
  CHECK(read({"-l", ""}).errors == "beanstalkd: cannot listen: -l needs a host\n");
  CHECK(config_of({"-l", "unix:"}).beanstalk->host == "unix:");
}

TEST_CASE("beanstalkd options: a unix socket has no port") {
  CHECK(config_of({"-l", "unix:/run/socket", "-p", "x"}).beanstalk->path == "/run/socket");
}

TEST_CASE("beanstalkd options: the last word on syncing counts") {
  CHECK(config_of({}).sync == SyncChoice{.mode = SyncChoice::Mode::kInterval, .interval = 50ms});
  CHECK(config_of({"-F"}).sync == SyncChoice{.mode = SyncChoice::Mode::kOff});
  CHECK(config_of({"-F", "-f0"}).sync == SyncChoice{.mode = SyncChoice::Mode::kAlways});
  CHECK(config_of({"-f7"}).sync ==
        SyncChoice{.mode = SyncChoice::Mode::kInterval, .interval = 7ms});
  CHECK(config_of({"-f", "99999999999999999999"}).sync.interval == 1h);
}

TEST_CASE("beanstalkd options: sizes") {
  CHECK(config_of({"-z", "1073741824"}).job_bytes_max == kBodyBytesMax);
  CHECK(config_of({"-z1073741825"}).job_bytes_max == kBodyBytesMax);
  CHECK(config_of({"-z", "-1"}).job_bytes_max == kBodyBytesMax);
  CHECK(config_of({"-z", " +5"}).job_bytes_max == 5);
  CHECK(config_of({"-z", "-0"}).job_bytes_max == 0);
  CHECK(read({"-z", "5k"}).exit_status == 5);
  CHECK(read({"-z", ""}).exit_status == 5);
  CHECK(read({"-z", "+"}).exit_status == 5);
}

TEST_CASE("beanstalkd options: what comes first is said first") {
  CHECK(read({"-vx"}).exit_status == 0);
  CHECK(read({"-xv"}).exit_status == 5);
  CHECK(read({"-c", "-v"}).errors ==
        "beanstalkd: -c flag was removed. binlog is always compacted.\n");
}

}  // namespace
}  // namespace millrace::server
