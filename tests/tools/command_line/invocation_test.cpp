#include "tools/command_line/invocation.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include "server/process/process.hpp"
#include "support/doctest.hpp"
#include "support/scratch.hpp"
#include "support/variable.hpp"

namespace millrace::tools {
namespace {

using Action = Invocation::Action;
using Arguments = std::vector<std::string>;

server::Config serve(Arguments flags) {
  flags.insert(flags.begin(), "serve");
  const Invocation invocation = read_invocation(flags);
  REQUIRE_MESSAGE(invocation.action == Action::kServe, invocation.text);
  return invocation.config;
}

std::string refusal(Arguments flags) {
  flags.insert(flags.begin(), "serve");
  const Invocation invocation = read_invocation(flags);
  REQUIRE(invocation.action == Action::kRefuse);
  CHECK(invocation.text.find('\n') == std::string::npos);
  return invocation.text;
}

TEST_CASE("config: what nobody says is the default") {
  const server::Config config = serve({});
  CHECK(config.data == "./millrace-data");
  CHECK(config.beanstalk->text() == "127.0.0.1:11300");
  CHECK(config.faktory->text() == "127.0.0.1:7419");
  CHECK(config.sync == server::SyncChoice{});
  CHECK_FALSE(config.is_fetch_strict);
  CHECK(config.job_bytes_max == 65535);
  CHECK_FALSE(config.is_volatile);
  CHECK((config.insecure == server::OpenPorts{}));
  CHECK(config.password.empty());
  CHECK(config.password_file.empty());
}

TEST_CASE("config: every option as a flag") {
  const server::Config config = serve({"--data",
                                       "/d",
                                       "--beanstalk=off",
                                       "--faktory",
                                       "unix:/f.sock",
                                       "--password-file",
                                       "/p",
                                       "--sync",
                                       "interval:250",
                                       "--strict-fetch",
                                       "--volatile",
                                       "--max-job-size",
                                       "10",
                                       "--insecure",
                                       "--user",
                                       "nobody",
                                       "--socket-mode",
                                       "660",
                                       "--tls-cert",
                                       "/c",
                                       "--tls-key",
                                       "/k",
                                       "--max-connections",
                                       "20",
                                       "--dead-max-jobs",
                                       "0",
                                       "--push-once",
                                       "off",
                                       "--worker-timeout",
                                       "5",
                                       "--poison-after",
                                       "10",
                                       "--extend-while-alive"});
  CHECK(config.data == "/d");
  CHECK_FALSE(config.beanstalk);
  CHECK(config.faktory->path == "/f.sock");
  CHECK(config.password_file == "/p");
  CHECK(config.sync ==
        server::SyncChoice{.mode = server::SyncChoice::Mode::kInterval, .interval = 250ms});
  CHECK(config.is_fetch_strict);
  CHECK(config.is_volatile);
  CHECK(config.job_bytes_max == 10);
  CHECK(config.user == "nobody");
  CHECK(config.socket_mode == 0660);
  CHECK(config.tls_certificate_file == "/c");
  CHECK(config.tls_key_file == "/k");
  CHECK(config.connections_max == 20);
  CHECK(config.dead_jobs_max == 0);
  CHECK_FALSE(config.pushes.is_on);
  CHECK(config.worker_timeout == 5s);
  CHECK(config.poison_after == 10);
  CHECK(config.extends_while_alive);
  CHECK((config.insecure == server::OpenPorts{.beanstalk = true}));
}

TEST_CASE("config: which pushes are known when they are sent again") {
  CHECK(serve({}).pushes == PushRules{.is_on = true, .after_end = 0s});
  CHECK(serve({"--push-once", "on"}).pushes == PushRules{});
  CHECK(serve({"--push-once", "600"}).pushes == PushRules{.is_on = true, .after_end = 600s});
  CHECK(serve({"--push-once", "0"}).pushes == PushRules{});
  CHECK(serve({"--push-once", "2592000"}).pushes.after_end == PushOnce::kAfterEndMax);
  CHECK(refusal({"--push-once", "2592001"}).ends_with(", or on or off"));
}

TEST_CASE("config: whether finished jobs outlive a restart") {
  CHECK_FALSE(serve({}).is_finished_durable);
  CHECK(serve({"--keep-finished-durable"}).is_finished_durable);
  CHECK(serve({"--keep-finished-durable", "--keep-finished", "7,2d"}).finished.jobs_max == 7);
}

TEST_CASE("config: a time after which workers are gone, and how often, have limits") {
  CHECK(serve({}).worker_timeout == 60s);
  CHECK(serve({}).poison_after == 3);
  CHECK_FALSE(serve({}).extends_while_alive);
  CHECK_FALSE(serve({"--worker-timeout=off"}).worker_timeout);
  CHECK(serve({"--worker-timeout=86400"}).worker_timeout == 24h);
  CHECK(refusal({"--worker-timeout=4"}).ends_with(", or off"));
  CHECK(refusal({"--worker-timeout=86401"}).ends_with(", or off"));
  CHECK(serve({"--poison-after=0"}).poison_after == 0);
  CHECK(refusal({"--poison-after=11"}).starts_with("--poison-after"));
}

TEST_CASE("config: times have units, or are numbers of the unit that the option names") {
  CHECK(serve({"--worker-timeout=90s"}).worker_timeout == 90s);
  CHECK(serve({"--worker-timeout=1.5m"}).worker_timeout == 90s);
  CHECK(refusal({"--worker-timeout=4"}) ==
        "--worker-timeout: '4' is not a time from 5s to 24h in whole seconds, or off");
  CHECK(refusal({"--worker-timeout=5.5s"}).starts_with("--worker-timeout: '5.5s' is not a time"));
  CHECK(refusal({"--push-once=1500ms"}) ==
        "--push-once: '1500ms' is not a time from 0 to 720h in whole seconds, or on or off");
  CHECK(serve({"--push-once=10m"}).pushes.after_end == 10min);
  CHECK(serve({"--keep-finished=7,1h30m"}).finished.age_max == 90min);
  CHECK(refusal({"--keep-finished=7,90"}).find("is not an age such as") != std::string::npos);
  CHECK(refusal({"--keep-finished=7,366d"}).find("up to 365d") != std::string::npos);
  CHECK(serve({"--sync=interval:0.25s"}).sync.interval == 250ms);
}

TEST_CASE("config: two ports at one address are refused") {
  CHECK(refusal({"--web=127.0.0.1:7419"}) ==
        "--faktory and --web are both 127.0.0.1:7419; each port needs an address of its own");
  CHECK(refusal({"--beanstalk=unix:/s", "--web=unix:/s"}) ==
        "--beanstalk and --web are both unix:/s; each port needs an address of its own");
  CHECK(serve({"--beanstalk=127.0.0.1:0", "--faktory=127.0.0.1:0"}).web);
}

TEST_CASE("config: the first argument that nobody takes is named, with where to look") {
  CHECK(refusal({"--password", "abc"}) ==
        "'--password' is not a known argument; see millrace serve --help");
  CHECK(read_invocation({"bogus"}).text == "'bogus' is not a command; see millrace --help");
  CHECK(read_invocation({"rm"}).text == "'rm' is not a command; did you mean millrace delete?");
  CHECK(read_invocation({"stat"}).text == "'stat' is not a command; did you mean millrace stats?");
  CHECK(read_invocation({"--bogus"}).text ==
        "'--bogus' is not a known argument; see millrace --help");
  CHECK(read_invocation({"--json", "stats"}).text ==
        "--json belongs after the command: millrace stats --json");
  CHECK(read_invocation({"check", "a", "b", "c"}).text ==
        "'b' is not a known argument; see millrace check --help");
}

TEST_CASE("config: sizes are in bytes or have a unit, which a refusal says") {
  CHECK(refusal({"--segment-bytes=64M"}) ==
        "--segment-bytes: '64M' is not a size from 1048576 to 1073741824 bytes, such as 70000, "
        "64KiB or 2GB");
  CHECK(read_invocation({"serve", "--max-job-size=1kB"}).config.job_bytes_max == 1000);
  CHECK(read_invocation({"serve", "--segment-bytes=64MiB"}).config.segment_bytes == 64 << 20);
  CHECK(read_invocation({"serve", "--max-job-size=1GiB"}).config.job_bytes_max == 1 << 30);
  CHECK(refusal({"--max-job-size=1073741825"}).starts_with("--max-job-size: '1073741825' is not"));
  CHECK(refusal({"--max-job-size=2GiB"}).starts_with("--max-job-size: '2GiB' is not a size"));
  CHECK(refusal({"--max-job-size=99999999999TB"}).starts_with("--max-job-size: '99999999999TB'"));
  CHECK(refusal({"--max-job-size=KiB"}).starts_with("--max-job-size: 'KiB' is not a size"));
}

TEST_CASE("config: the mode of sockets is octal, and leaves their owner in") {
  CHECK(serve({"--socket-mode=0660"}).socket_mode == 0660);
  CHECK(serve({"--socket-mode=777"}).socket_mode == 0777);
  for (const char* wrong : {"", "060", "1777", "66x", "-660", "rw", "888"}) {
    CHECK_MESSAGE(refusal({"--socket-mode", wrong}).find("octal mode") != std::string::npos, wrong);
  }
}

TEST_CASE("config: the help of check and backup names directories and statuses") {
  const std::string check = read_invocation({"check", "--help"}).text;
  CHECK(check.find("DIR REQUIRED") != std::string::npos);
  CHECK(check.find("4: the journal is damaged") != std::string::npos);
  const std::string backup = read_invocation({"backup", "--help"}).text;
  CHECK(backup.find("DIR [DEST]") != std::string::npos);
  CHECK(backup.find("1: not copied") != std::string::npos);
  CHECK(backup.find("4:") == std::string::npos);
}

TEST_CASE("config: certificate and key need each other") {
  CHECK(refusal({"--tls-cert=/c"}) == "--tls-cert and --tls-key must be set together");
  CHECK(refusal({"--tls-key=/k"}) == "--tls-cert and --tls-key must be set together");
  CHECK(refusal({"--log=nats://h/jobs", "--node=a", "--ca=/f"}) ==
        "--ca is about the TLS of other nodes: set --tls-cert and --tls-key too");
}

TEST_CASE("config: every option as an environment variable") {
  const Variable data("MILLRACE_DATA", "/d");
  const Variable beanstalk("MILLRACE_BEANSTALK", "[::1]:5");
  const Variable faktory("MILLRACE_FAKTORY", "off");
  const Variable password_file("MILLRACE_PASSWORD_FILE", "/p");
  const Variable sync("MILLRACE_SYNC", "off");
  const Variable strict_fetch("MILLRACE_STRICT_FETCH", "yes");
  const Variable is_volatile("MILLRACE_VOLATILE", "true");
  const Variable job_size("MILLRACE_MAX_JOB_SIZE", "0");
  const Variable insecure("MILLRACE_INSECURE", "1");
  const server::Config config = serve({});
  CHECK(config.data == "/d");
  CHECK(config.beanstalk->text() == "[::1]:5");
  CHECK_FALSE(config.faktory);
  CHECK(config.password_file == "/p");
  CHECK(config.sync.mode == server::SyncChoice::Mode::kOff);
  CHECK(config.is_fetch_strict);
  CHECK(config.is_volatile);
  CHECK(config.job_bytes_max == 0);
  CHECK((config.insecure == server::OpenPorts{.beanstalk = true}));
}

TEST_CASE("config: every option as a key of the file") {
  const Scratch scratch;
  const std::string file = scratch.write("config", R"(# for the test
data = "/d"
beanstalk = "127.0.0.1:5"
faktory = "off"
password-file = "/p"
sync = "interval:1"
volatile = true
max-job-size = 1073741824
insecure = true
)");
  const server::Config config = serve({"--config", file});
  CHECK(config.data == "/d");
  CHECK(config.beanstalk->port == 5);
  CHECK_FALSE(config.faktory);
  CHECK(config.password_file == "/p");
  CHECK(config.sync.interval == 1ms);
  CHECK(config.is_volatile);
  CHECK(config.job_bytes_max == 1073741824);
  CHECK((config.insecure == server::OpenPorts{.beanstalk = true}));
}

TEST_CASE("config: a flag overrides the environment, which overrides the file") {
  const Scratch scratch;
  const std::string file =
      scratch.write("config", "data = \"file\"\nmax-job-size = 1\nsync = \"off\"\n");
  const Variable config_file("MILLRACE_CONFIG", file);
  const Variable data("MILLRACE_DATA", "environment");
  const Variable job_size("MILLRACE_MAX_JOB_SIZE", "2");
  const server::Config config = serve({"--data", "flag"});
  CHECK(config.data == "flag");
  CHECK(config.job_bytes_max == 2);
  CHECK(config.sync.mode == server::SyncChoice::Mode::kOff);
}

TEST_CASE("config: an empty environment variable says nothing") {
  const Variable data("MILLRACE_DATA", "");
  CHECK(serve({}).data == "./millrace-data");
}

TEST_CASE("config: variables that begin like an option's, and are none, are told") {
  const Variable misspelt("MILLRACE_PASWORD_FILE", "/p");
  const Variable foreign("MILLRACE_DATA_SERVICE_HOST", "192.0.2.1");
  const Variable data("MILLRACE_DATA", "/d");
  const Variable config_file("MILLRACE_CONFIG", "");
  const Variable program("MILLRACE", "build/millrace");
  const Invocation invocation = read_invocation({"serve"});
  CHECK(invocation.action == Action::kServe);
  CHECK(invocation.unknown_variables ==
        Arguments{"MILLRACE_DATA_SERVICE_HOST", "MILLRACE_PASWORD_FILE"});
}

TEST_CASE("config: FAKTORY_PASSWORD is the password, or names its file") {
  {
    const Variable password("FAKTORY_PASSWORD", "secret");
    CHECK(serve({}).password == "secret");
    CHECK(serve({"--password-file", "f"}).password.empty());
  }
  const Variable password("FAKTORY_PASSWORD", "/run/secret");
  CHECK(serve({}).password.empty());
  CHECK(serve({}).password_file == "/run/secret");
}

TEST_CASE("verbs: the environment names the server, also for the beanstalk port") {
  const auto job_port = [](Arguments arguments) {
    const Invocation invocation = read_invocation(arguments);
    REQUIRE_MESSAGE(invocation.action == Action::kAsk, invocation.text);
    return std::string(invocation.ask.job_port.is_tls ? "tls://" : "") +
           invocation.ask.job_port.text();
  };
  const Variable address("BEANSTALKD_URL", "");
  CHECK(job_port({"put", "x"}) == "127.0.0.1:11300");
  const Variable faktory("FAKTORY_URL", "tcp://:secret@there:7419");
  CHECK(job_port({"put", "x"}) == "there:11300");
  CHECK(read_invocation({"stats"}).ask.url.shown() == "http://there:7420");
  CHECK(read_invocation({"doctor"}).ask.url.password == "secret");
  const Variable url("MILLRACE_URL", "https://:other@here");
  CHECK(job_port({"fetch"}) == "tls://here:11300");
  CHECK(job_port({"fetch", "--address", "[::1]:1"}) == "[::1]:1");
  CHECK(read_invocation({"doctor"}).ask.url.shown() == "https://here:443");
}

TEST_CASE("verbs: an unusual port does not tell where the others are") {
  const Variable faktory("FAKTORY_URL", "tcp://:secret@there:17419");
  CHECK(read_invocation({"stats"}).text ==
        "FAKTORY_URL has port 17419, which does not tell where the web port is: name it with --url "
        "or MILLRACE_URL");
  CHECK(read_invocation({"stats", "--url=http://here:1"}).action == Action::kAsk);
  const Variable url("MILLRACE_URL", "https://:other@here:8443");
  CHECK(read_invocation({"stats"}).action == Action::kAsk);
  CHECK(read_invocation({"put", "x"}).text ==
        "MILLRACE_URL has port 8443, which does not tell where the beanstalk port is: name it with "
        "--address or BEANSTALKD_URL");
}

TEST_CASE("verbs: a variable that makes no sense is refused where it is needed") {
  const Variable url("MILLRACE_URL", "here:secret");
  const Variable faktory("FAKTORY_URL", "redis://:secret@there");
  CHECK(read_invocation({"put", "x"}).text == "MILLRACE_URL must have a port from 1 to 65535");
  CHECK(read_invocation({"stats"}).action == Action::kRefuse);
  CHECK(read_invocation({"put", "x", "--address=here"}).action == Action::kAsk);
  CHECK(read_invocation({"doctor", "/data"}).action == Action::kAsk);
  CHECK(read_invocation({"bench"}).action == Action::kAsk);
}

TEST_CASE("config: a value that makes no sense is refused with its option") {
  CHECK(refusal({"--sync", "sometimes"}) ==
        "--sync: 'sometimes' is not always, interval:MS or off");
  CHECK(refusal({"--sync", "interval:0"}) ==
        "--sync: interval: '0' is not a time from 1ms to 1h in whole milliseconds");
  CHECK(refusal({"--max-job-size", "1073741825"}) ==
        "--max-job-size: '1073741825' is not a size from 0 to 1073741824 bytes, such as 70000, "
        "64KiB or 2GB");
  CHECK(refusal({"--max-job-size", "64k"}).starts_with("--max-job-size: '64k' is not"));
  CHECK(refusal({"--beanstalk", "11300"}).starts_with("--beanstalk: '11300' is not"));
  CHECK(refusal({"--faktory", ""}).starts_with("--faktory"));
  CHECK(refusal({"--data", ""}).starts_with("--data"));
}

TEST_CASE("config: an option that does not exist is refused by name") {
  CHECK(refusal({"--frobnicate"}).find("--frobnicate") != std::string::npos);
  CHECK(refusal({"extra"}).find("extra") != std::string::npos);
  CHECK(refusal({"--data"}) == "--data needs a value");
}

TEST_CASE("config: --insecure names ports") {
  using server::OpenPorts;
  const auto ports = [](const char* text) {
    return serve({std::string("--insecure") + text}).insecure;
  };
  CHECK((ports("") == OpenPorts{.beanstalk = true}));
  CHECK((ports("=web") == OpenPorts{.web = true}));
  CHECK((ports("=faktory,beanstalk") == OpenPorts{.beanstalk = true, .faktory = true}));
  CHECK((ports("=off") == OpenPorts{}));
  CHECK(refusal({"--insecure=all"}) ==
        "--insecure: unknown port 'all': use beanstalk, faktory or web, separated by commas");
  CHECK(refusal({"--insecure=web,"}) ==
        "--insecure: unknown port '': use beanstalk, faktory or web, separated by commas");
  // As of `--insecure=$PORTS` without PORTS.
  CHECK(refusal({"--insecure="}) == "--insecure= needs a value");
  const Variable variable("MILLRACE_INSECURE", "faktory,web");
  CHECK((serve({}).insecure == OpenPorts{.faktory = true, .web = true}));
}

TEST_CASE("config: a password variable is not ignored in silence") {
  {
    const Variable password("FAKTORY_PASSWORD", "");
    CHECK(refusal({}).find("FAKTORY_PASSWORD is empty") != std::string::npos);
    CHECK(serve({"--password-file", "/p"}).password_file == "/p");
  }
  const Variable other("MILLRACE_PASSWORD", "secret");
  const server::Config config = serve({});
  REQUIRE(config.ignored_keys.size() == 1);
  CHECK(config.ignored_keys[0].key == "MILLRACE_PASSWORD");
  // Commands beside a server that has one.
  CHECK(serve({"--password-file", "/p"}).ignored_keys.empty());
}

TEST_CASE("config: a flag that is given twice is refused") {
  CHECK(refusal({"--data", "a", "--data=b"}) == "--data may be given only once");
  CHECK(refusal({"--config", "a", "--config", "a"}) == "--config may be given only once");
  CHECK(refusal({"--volatile", "--volatile"}) == "--volatile may be given only once");
  CHECK(refusal({"--insecure=true", "--insecure=false"}) == "--insecure may be given only once");
  CHECK(read_invocation({"check", "a", "--salvage", "b", "--salvage", "c"}).text ==
        "--salvage may be given only once");
}

TEST_CASE("config: both job ports off is refused") {
  CHECK(refusal({"--beanstalk", "off", "--faktory", "off"}).find("nothing to serve") !=
        std::string::npos);
}

TEST_CASE("config: a bad file is refused with its name") {
  const Scratch scratch;
  CHECK(refusal({"--config", "/nowhere"}) ==
        "cannot read config file /nowhere: No such file or directory");
  const std::string unknown = scratch.write("unknown", "colour = \"red\"\n");
  CHECK(refusal({"--config", unknown}) == unknown + ":1: unknown key 'colour'");
  const std::string near = scratch.write("near", "max_connections = 3\n");
  CHECK(refusal({"--config", near}) ==
        near + ":1: unknown key 'max_connections'; did you mean 'max-connections'?");
  const std::string bad = scratch.write("bad", "sync = \"never\"\n");
  CHECK(refusal({"--config", bad}) == bad + ":1: sync: 'never' is not always, interval:MS or off");
  const std::string nested = scratch.write("nested", "[serve]\ndata = \"x\"\n");
  CHECK(refusal({"--config", nested}) == nested + ":2: unknown key 'serve.data'");
  const std::string huge = scratch.write("huge", std::string(100'000, 'x') + " = \"x\"\n");
  CHECK(refusal({"--config", huge}) == huge + ":1: unknown key '" + std::string(97, 'x') + "...'");
  const std::string value = scratch.write("value", "sync = \"" + std::string(100'000, 'x') + "\"");
  CHECK(refusal({"--config", value}).size() < value.size() + 600);
  const std::string list = scratch.write("list", "\ndata = [\"x\"]\n");
  CHECK(refusal({"--config", list}) == list + ":2: data must be a text in quotes");
  const std::string broken = scratch.write("broken", "volatile = true\nsync = always\n");
  CHECK(refusal({"--config", broken}).starts_with(broken + ":2: "));
}

TEST_CASE("config: a value in the file has the type of its option") {
  const Scratch scratch;
  const auto refused = [&](const char* line) {
    const std::string file = scratch.write("config", line);
    return refusal({"--config", file}).substr(file.size());
  };
  CHECK(refused("data = 5") == ":1: data must be a text in quotes");
  CHECK(refused("name = true") == ":1: name must be a text in quotes");
  CHECK(refused("volatile = [1]") == ":1: volatile must be true or false");
  CHECK(refused("max-job-size = true") ==
        ":1: max-job-size must be a whole number, or a text in quotes");
  const std::string good =
      scratch.write("good",
                    "max-job-size = 70000\nmemory-limit = \"2GB\"\nworker-timeout = 90\n"
                    "volatile = true\nstrict-fetch = \"on\"\nname = 7\n");
  const Invocation read = read_invocation({"serve", "--config", good});
  REQUIRE(read.action == Invocation::Action::kServe);
  CHECK(read.config.memory_bytes_max == 2'000'000'000);
}

TEST_CASE("config: the file has limits of queues") {
  const Scratch scratch;
  const std::string good =
      scratch.write("good", "sync = \"off\"\n[throttles]\nq = { worker = 1, timeout = 9 }\n");
  const Invocation read = read_invocation({"serve", "--config", good});
  REQUIRE(read.action == Invocation::Action::kServe);
  REQUIRE(read.config.throttles.size() == 1);
  CHECK(read.config.throttles[0].limits.worker == 1);
  const std::string bad = scratch.write("bad", "[throttles]\nq = { worker = 1 }\n");
  CHECK(refusal({"--config", bad}).starts_with(bad + ":2: throttles.q: timeout is missing"));
}

TEST_CASE("config: version and help print and are done") {
  CHECK(read_invocation({"--version"}).text == server::version_text() + "\n");
  CHECK(read_invocation({"--help"}).action == Action::kPrint);
  CHECK(read_invocation({"serve", "--help"}).text.find("MILLRACE_MAX_JOB_SIZE") !=
        std::string::npos);
}

TEST_CASE("config: no command at all shows the help") {
  CHECK(read_invocation({}).action == Action::kShowUsage);
  CHECK(read_invocation({}).text == read_invocation({"--help"}).text);
}

TEST_CASE("config: a command that does not exist is refused") {
  CHECK(read_invocation({"dance"}).action == Action::kRefuse);
  CHECK(read_invocation({"--dance"}).action == Action::kRefuse);
}

}  // namespace
TEST_CASE("config: the memory for jobs may be more than a gigabyte") {
  const Invocation serve = read_invocation({"serve", "--memory-limit", "64000000000"});
  CHECK(serve.action == Invocation::Action::kServe);
  CHECK(serve.config.memory_bytes_max == 64'000'000'000);
}

TEST_CASE("config: a memory limit leaves room for some jobs, or there is none") {
  CHECK(read_invocation({"serve", "--memory-limit", "65536"}).action == Action::kServe);
  CHECK(read_invocation({"serve", "--memory-limit", "0"}).action == Action::kServe);
  CHECK(read_invocation({"serve", "--memory-limit", "65535"}).text ==
        "--memory-limit: '65535' is not a size from 65536 to 1125899906842624 bytes, such as "
        "70000, 64KiB or 2GB, or 0 for no limit");
  CHECK(read_invocation({"serve", "--memory-limit", "10M"}).text ==
        "--memory-limit: '10M' is not a size from 65536 to 1125899906842624 bytes, such as "
        "70000, 64KiB or 2GB, or 0 for no limit");
}

TEST_CASE("config: what looks after a journal names its directories") {
  const Invocation check = read_invocation({"check", "data"});
  CHECK(check.action == Invocation::Action::kCheck);
  CHECK(check.text == "data");
  CHECK(check.target.empty());
  CHECK(read_invocation({"check", "data", "--salvage", "new"}).target == "new");
  const Invocation backup = read_invocation({"backup", "data", "copy"});
  CHECK(backup.action == Invocation::Action::kBackUp);
  CHECK(backup.backup.directory == "data");
  CHECK(backup.backup.to == "copy");
  CHECK(read_invocation({"backup", "data"}).action == Invocation::Action::kRefuse);
  const Invocation grown =
      read_invocation({"backup", "data", "--to", "-", "--since", "a", "--manifest", "b"});
  CHECK(grown.backup.to == kStream);
  CHECK(grown.backup.since == "a");
  CHECK(grown.backup.manifest == "b");
  CHECK(read_invocation({"backup", "data", "--to", "a", "--since", "a", "--keep", "7d"})
            .backup.keep == Duration(24h * 7));
  const Invocation restore =
      read_invocation({"restore", "a", "b", "--to", "c", "--until", "1970-01-01T00:01Z"});
  CHECK(restore.action == Invocation::Action::kRestore);
  CHECK(restore.restore.from == std::vector<std::string>{"a", "b"});
  CHECK(restore.restore.until == Time{60s});
}

TEST_CASE("config: what moves jobs takes a directory and the options of the engine") {
  const Invocation to_log = read_invocation(
      {"move-to-log", "data", "--log", "nats://a/jobs", "--allow-unsynced-log", "--log-ca=c"});
  CHECK(to_log.action == Action::kMoveToLog);
  CHECK(to_log.config.data == "data");
  CHECK(to_log.config.log == "nats://a/jobs");
  CHECK(to_log.config.allows_unsynced_log);
  CHECK(to_log.config.log_ca_file == "c");
  CHECK(read_invocation({"move-to-file", "data", "--log=nats://a/jobs"}).action ==
        Action::kMoveToFile);
  CHECK(read_invocation({"move-to-file", "data", "--log=nats://a/jobs", "--again"})
            .config.moves_again);
  CHECK(read_invocation({"move-to-file", "data"}).text == "--log is required");
  CHECK(read_invocation({"move-to-log", "--log=nats://a/jobs"}).action == Action::kRefuse);
  CHECK(read_invocation({"move-to-log", "data", "--log=nats://a/jobs", "--node=a"}).action ==
        Action::kRefuse);
  CHECK(read_invocation({"move-to-log", "data", "--log=nats://a/jobs", "--log-cert=c"}).text ==
        "--log-cert and --log-key must be set together");
}

TEST_CASE("config: an import names the old directory and the new one") {
  const Invocation import =
      read_invocation({"import", "--beanstalkd", "old", "--into", "new", "--merge"});
  CHECK(import.action == Action::kImport);
  CHECK(import.import.beanstalkd == "old");
  CHECK(import.import.into == "new");
  CHECK(import.import.merges);
  CHECK_FALSE(read_invocation({"import", "--beanstalkd=old", "--into=new"}).import.merges);
  CHECK(read_invocation({"import", "--into=new"}).text ==
        "--beanstalkd, --faktory or --from is required");
  CHECK(read_invocation({"import", "--into=new", "--faktory=x", "--from=y"}).text ==
        "give one of --beanstalkd, --faktory and --from; then run it again for the next one, with "
        "--merge");
  CHECK(read_invocation({"import", "--into=new", "--beanstalkd=x", "--skip-damage"})
            .import.skips_damage);
  CHECK(read_invocation({"import", "--into=new", "--from=y", "--skip-damage"}).text ==
        "--skip-damage needs --beanstalkd");
  CHECK(read_invocation({"import", "--into=new", "--from=y", "--keep-working"}).text ==
        "--keep-working needs --faktory");
  CHECK(read_invocation({"import", "--beanstalkd=old"}).text == "--into is required");
  CHECK(read_invocation({"import", "old", "new"}).action == Action::kRefuse);
}

TEST_CASE("config: an empty value of a tool is no value left out") {
  CHECK(read_invocation({"restore", "b", "--to=d", "--until", ""}).text ==
        "--until must not be empty");
  CHECK(read_invocation({"backup", "d", "b", "--since", ""}).text == "--since must not be empty");
  CHECK(read_invocation({"import", "--beanstalkd=b", "--into=d", "--from", ""}).text ==
        "--from must not be empty");
}

TEST_CASE("config: a shared log") {
  const server::Config config =
      read_invocation({"serve", "--log", "nats://a/jobs", "--node=n-1", "--lease=0.5s"}).config;
  CHECK(config.log == "nats://a/jobs");
  CHECK(config.node == "n-1");
  CHECK(config.lease == std::chrono::milliseconds(500));
}

TEST_CASE("config: what a shared log does not go with is refused") {
  CHECK(refusal({"--log=nats://a/jobs"}) == "--log needs --node, the name of this server");
  CHECK(refusal({"--node=a"}) == "--node is for servers that share a log: set --log too");
  for (const char* flag : {"--lease=500", "--no-relay", "--advertise=a", "--log-ca=f", "--ca=f"}) {
    CAPTURE(flag);
    const std::string name = std::string(flag).substr(0, std::string_view(flag).find('='));
    CHECK(refusal({flag}) == name + " is for servers that share a log: set --log too");
  }
  CHECK(refusal({"--log=nats://a/jobs", "--node=a", "--volatile"}) ==
        "--volatile and --log contradict each other");
  CHECK(refusal({"--log=nats://a/jobs", "--node=a", "--sync=off"}) ==
        "--sync is about the data directory, and --log has a log elsewhere");
  CHECK(refusal({"--log=nats://a/jobs", "--node=a b"}) ==
        "--node: 'a b' is not 1 to 64 letters, digits, '-', '_' and '.'");
  CHECK(refusal({"--log=nats://a/jobs", "--node=a", "--lease=50"}) ==
        "--lease: '50' is not a time from 200ms to 1m in whole milliseconds");
}

TEST_CASE("config: cron entries of the config file, and of conf.d beside it") {
  const Scratch scratch;
  const std::string entry = "[[cron]]\nschedule = \"@daily\"\n[cron.job]\ntype = ";
  const std::string file = scratch.write("config.toml", "web = \"off\"\n" + entry + "\"A\"\n");
  std::filesystem::create_directories(scratch.path("conf.d"));
  scratch.write("conf.d/b.toml", entry + "\"B\"");
  scratch.write("conf.d/c.toml.old", "broken");
  const server::Config config = serve({"--config", file});
  REQUIRE(config.cron->items.size() == 2);
  CHECK(config.cron->items[0].jobtype == "A");
  CHECK(config.cron->items[1].jobtype == "B");
  CHECK_FALSE(config.web);
  // The folder alone.
  CHECK(serve({"--conf-dir", scratch.path("conf.d")}).cron->items.size() == 1);
  CHECK(serve({}).cron->items.empty());
  CHECK(refusal({"--conf-dir", scratch.path("none")}) ==
        "--conf-dir: " + scratch.path("none") + " is not a directory");
}

TEST_CASE("config: what INFO says that the server is") {
  CHECK(serve({}).description == "Faktory");
  CHECK(serve({"--description", "Faktory Enterprise"}).description == "Faktory Enterprise");
  CHECK(serve({"--description", std::string(255, 'x')}).description.size() == 255);
  for (const std::string& wrong :
       {std::string(256, 'x'), std::string("a\nb"), std::string("\xff")}) {
    CHECK(refusal({"--description", wrong}) == "--description: must be one line of 1 to 255 bytes");
  }
}

TEST_CASE("config: the name of the server in the web UI, and its color") {
  CHECK(serve({}).name.text.empty());
  CHECK(serve({"--name", "prod-eu"}).name == server::ServerName{"prod-eu", "red"});
  CHECK(serve({"--name", "staging"}).name == server::ServerName{"staging", "blue"});
  CHECK(serve({"--name", "staging:orange"}).name == server::ServerName{"staging", "orange"});
  CHECK(serve({"--name", std::string(40, 'x')}).name.text.size() == 40);
  CHECK(refusal({"--name", std::string(41, 'x')}) == "--name: must be one line of 1 to 40 bytes");
  CHECK(refusal({"--name", ":red"}) == "--name: must be one line of 1 to 40 bytes");
  CHECK(refusal({"--name", "a:pink"}) ==
        "--name: 'pink' is not red, orange, green, blue, purple or gray");
}

TEST_CASE("config: statsd by the config file, or else by Datadog's variable") {
  const Scratch scratch;
  const std::string file =
      scratch.write("config.toml", "[statsd]\nlocation = \"a:1\"\ncolour = 1\n");
  CHECK_FALSE(serve({}).statsd);
  const server::Config config = serve({"--config", file});
  CHECK(config.statsd->location.text() == "a:1");
  REQUIRE(config.ignored_keys.size() == 1);
  CHECK(config.ignored_keys[0].key == "statsd.colour");
  {
    const Variable variable("DD_DOGSTATSD_URL", "udp://b:2");
    CHECK(serve({}).statsd->location.text() == "b:2");
    CHECK(serve({"--config", file}).statsd->location.text() == "a:1");
  }
  const Variable variable("DD_DOGSTATSD_URL", "unix:///run/datadog.sock");
  CHECK_FALSE(serve({}).statsd);
  CHECK(serve({}).ignored_keys[0].key == "DD_DOGSTATSD_URL");
}

std::string ignored_by(const server::Config& config, const Scratch& scratch) {
  std::string text;
  for (const server::IgnoredKey& each : config.ignored_keys) {
    text += each.key + "@" + each.place.substr(scratch.path("").size()) + " ";
  }
  return text;
}

TEST_CASE("config: what is unknown in conf.d is named with its line, and is no problem") {
  const Scratch scratch;
  const std::string file = scratch.write("config.toml", "web = \"off\"\n");
  std::filesystem::create_directories(scratch.path("conf.d"));
  scratch.write("conf.d/a.toml", "data = \"x\"\n\n[license]\nkey = 1\nname = 2\n[throttles]\n");
  scratch.write("conf.d/b.toml", "[[cron.x]]\n[colour]\n");
  CHECK(refusal({"--config", file}).find("conf.d/b.toml:1: ") != std::string::npos);
  scratch.write("conf.d/b.toml", "\n[[colour]]\n[[colour]]\n");
  const server::Config config = serve({"--config", file});
  CHECK(ignored_by(config, scratch) ==
        "data@conf.d/a.toml:1 license@conf.d/a.toml:3 colour@conf.d/b.toml:2 ");
  CHECK(config.data == server::Config{}.data);
}

TEST_CASE("config: Faktory's commercial tables in the config file are named, and are no problem") {
  const Scratch scratch;
  const std::string file =
      scratch.write("config.toml", "[webui]\ntitle = \"x\"\n[license]\nkey = \"k\"\n");
  CHECK(ignored_by(serve({"--config", file}), scratch) ==
        "license@config.toml:3 webui@config.toml:1 ");
}

TEST_CASE("config: a bad cron entry ends the start") {
  const Scratch scratch;
  const std::string file = scratch.write("config.toml", "[[cron]]\nschedule = \"@daily\"\n");
  CHECK(refusal({"--config", file}) == file + ":1: [cron.job] is missing");
}

TEST_CASE("config: the URL of a shared log is checked wherever it is read, and not shown") {
  constexpr const char* kUrl = "nats://ann:s3cret@a/jobs?sync=yes";
  constexpr const char* kProblem =
      "the URL of a log in NATS has the unknown parameter sync: it may have replicas=N and "
      "synced=yes";
  const std::string flag = std::string("--log=") + kUrl;
  CHECK(refusal({flag, "--node=a"}) == std::string("--log: ") + kProblem);
  for (const char* command : {"move-to-log", "move-to-file"}) {
    const Invocation move = read_invocation({command, "data", flag});
    CHECK(move.action == Action::kRefuse);
    CHECK(move.text == std::string("--log: ") + kProblem);
  }
  Scratch scratch;
  const std::string file =
      scratch.write("config", std::string("node = \"a\"\nlog = \"") + kUrl + "\"\n");
  CHECK(refusal({"--config", file}) == file + ":2: log: " + kProblem);
  const Variable variable("MILLRACE_LOG", kUrl);
  CHECK(refusal({"--node=a"}) == std::string("--log: ") + kProblem);
}

namespace {

cli::Choice ask(const Arguments& arguments) {
  const Invocation invocation = read_invocation(arguments);
  REQUIRE_MESSAGE(invocation.action == Action::kAsk, invocation.text);
  return invocation.ask;
}

}  // namespace

TEST_CASE("ask: where the server is comes from the flag, then the environment") {
  CHECK(ask({"stats"}).url.shown() == "http://127.0.0.1:7420");
  const Variable variable("MILLRACE_URL", "http://there:1");
  CHECK(ask({"stats"}).url.shown() == "http://there:1");
  CHECK(ask({"stats", "--url=http://here:2"}).url.shown() == "http://here:2");
}

TEST_CASE("ask: a file of the password wins over the environment, and so does the URL") {
  const Variable variable("MILLRACE_PASSWORD", "of-environment");
  const Scratch scratch;
  const std::string path = scratch.write("password", "of-file\n");
  CHECK(ask({"stats"}).password == "of-environment");
  CHECK(ask({"stats", "--password-file=" + path}).password == "of-file");
  CHECK(ask({"stats", "--url=http://:of-url@here"}).password.empty());
}

TEST_CASE("ask: a token is sent unless a password was given for this server") {
  const std::string token = "mrt_" + std::string(43, 'a');
  const Variable variable("MILLRACE_TOKEN", token);
  const Variable password("MILLRACE_PASSWORD", "of-environment");
  const Scratch scratch;
  CHECK(ask({"stats"}).bearer == token);
  CHECK(ask({"stats", "--password-file=" + scratch.write("password", "p\n")}).bearer.empty());
  CHECK(ask({"stats", "--url=http://ana:p@here"}).bearer.empty());
  CHECK(ask({"tokens"}).bearer.empty());
  const Variable other("FAKTORY_URL", "tcp://:p@here:7419");
  CHECK(ask({"stats"}).bearer == token);
}

TEST_CASE("ask: a token that cannot be one is refused, and not shown") {
  const Variable variable("MILLRACE_TOKEN", "mrt_\r\nX: 1");
  const Invocation invocation = read_invocation({"stats"});
  CHECK(invocation.text.find("MILLRACE_TOKEN is not a token") != std::string::npos);
  CHECK(invocation.text.find("X: 1") == std::string::npos);
}

TEST_CASE("ask: what a token may is read from a list") {
  const cli::Choice choice =
      ask({"tokens", "new", "ci", "--may=view,operate", "--queues=mail*,shop", "--expires=30d"});
  CHECK(choice.token.may == std::vector<std::string>{"view", "operate"});
  CHECK(choice.token.queues == std::vector<std::string>{"mail*", "shop"});
  CHECK(choice.token.expires_s == 30 * 24 * 3600);
  CHECK(read_invocation({"tokens", "new", "ci", "--may=view,rule"}).text.find("--may must be") !=
        std::string::npos);
  CHECK(read_invocation({"tokens", "new", "ci", "--queues=a,"}).text.find("an empty part") !=
        std::string::npos);
}

TEST_CASE("ask: colors are left out where nobody wants them") {
  const Variable terminal("TERM", "xterm");
  {
    const Variable variable("NO_COLOR", "");
    CHECK(ask({"stats"}).has_colors);
  }
  const Variable variable("NO_COLOR", "1");
  CHECK_FALSE(ask({"stats"}).has_colors);
}

TEST_CASE("ask: a flag without a value does not take the next argument for it") {
  const Invocation invocation = read_invocation({"delete", "--state=dead", "--type=", "--yes"});
  CHECK(invocation.action == Action::kRefuse);
  CHECK(invocation.text == "--type= needs a value");
}

TEST_CASE("ask: IDs may be many, and flags not") {
  CHECK(ask({"delete", "1", "2"}).words.size() == 2);
  CHECK(read_invocation({"ls", "dead", "--type=a", "--type=b"}).text ==
        "--type may be given only once");
}

}  // namespace millrace::tools
