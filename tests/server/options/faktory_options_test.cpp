#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include "server/options/option_rows.hpp"
#include "server/options/other_options.hpp"
#include "support/doctest.hpp"
#include "support/scratch.hpp"
#include "support/variable.hpp"

namespace millrace::server {
namespace {

/// The directories of one that is called as `faktory`. What is in the environment of the tests
/// counts as not set.
class Home {
 public:
  Home() {
    unsetenv("FAKTORY_ENV");
    unsetenv("FAKTORY_PASSWORD");
    unsetenv("FAKTORY_SKIP_PASSWORD");
    for (const char* const name :
         {"MILLRACE_WORKER_TIMEOUT", "MILLRACE_WEB_HOST", "MILLRACE_URL", "FAKTORY_URL",
          "FAKTORY_PROVIDER", "FAKTORY_BIN", "REDIS_URL", "REDIS_PROVIDER"}) {
      unsetenv(name);
    }
    std::filesystem::create_directories(scratch_.path("files/conf.d"));
  }

  void write(const std::string& name, const std::string& text) const {
    scratch_.write("files/conf.d/" + name + ".toml", text);
  }

  [[nodiscard]] OtherInvocation read(const std::vector<std::string>& flags = {}) const {
    std::vector<std::string> arguments = {"-c", scratch_.path("files"), "-d", storage()};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return read_faktory_invocation(arguments);
  }

  [[nodiscard]] Config config(const std::vector<std::string>& flags = {}) const {
    const OtherInvocation invocation = read(flags);
    REQUIRE_MESSAGE(!invocation.exit_status, invocation.errors);
    return invocation.config;
  }

  /// With one file.
  [[nodiscard]] Config config_by(const std::string& toml) const {
    write("a", toml);
    return config();
  }

  [[nodiscard]] std::string failure_by(const std::string& toml) const {
    write("a", toml);
    return failure();
  }

  /// What is said when it cannot start.
  [[nodiscard]] std::string failure(const std::vector<std::string>& flags = {}) const {
    const OtherInvocation invocation = read(flags);
    REQUIRE(invocation.exit_status == 1);
    CHECK(invocation.errors.starts_with("faktory: "));
    return invocation.errors;
  }

  [[nodiscard]] std::string storage() const { return scratch_.path("db"); }
  [[nodiscard]] const Scratch& scratch() const { return scratch_; }

 private:
  Scratch scratch_;
};

}  // namespace

TEST_CASE("faktory options: the table of options has the flags that the help has") {
  std::set<std::string> flags = {"e", "c", "l", "v", "h"};
  for (const OptionRow& row : kOptionRows) {
    if (row.others.faktory.flag != nullptr) flags.insert(row.others.faktory.flag);
  }
  std::set<std::string> shown;
  std::istringstream help(read_faktory_invocation({"-h"}).output);
  for (std::string line; std::getline(help, line);) {
    if (line.starts_with(" -")) shown.insert(line.substr(2, line.find(' ', 2) - 2));
  }
  CHECK(flags == shown);
}

TEST_CASE("faktory options: clients and web pages at one address are refused") {
  const Home home;
  CHECK(home.failure({"-b", "localhost:1", "-w", "localhost:1"}) ==
        "faktory: -b and -w are both localhost:1; each needs an address of its own\n");
}

TEST_CASE("faktory options: a flag without its value is told so") {
  const auto invocation = read_faktory_invocation({"-b"});
  CHECK(invocation.exit_status == 2);
  CHECK(invocation.errors.starts_with("faktory: -b needs a value\n"));
  CHECK(read_faktory_invocation({"-x"}).errors.starts_with("faktory: unknown flag -x\n"));
}

TEST_CASE("faktory options: the limits of queues may be in any file") {
  const Home home;
  home.write("a", "[faktory]\nbinding = \"localhost:1\"\n");
  home.write("throttle", "[throttles]\nbulk = { worker = 5, timeout = 60 }\n");
  REQUIRE(home.config().throttles.size() == 1);
  CHECK(home.config().throttles[0].pattern == "bulk");
  CHECK(home.config().ignored_keys.empty());
  home.write("throttle", "[throttles]\nbulk = { worker = 0, timeout = 60 }\n");
  CHECK(home.failure().find("throttle.toml:2: throttles.bulk: worker") != std::string::npos);
}

TEST_CASE("faktory options: several files may have limits of different queues") {
  const Home home;
  home.write("a", "[throttles]\nbulk = { worker = 5, timeout = 60 }\n");
  home.write("b",
             "[faktory]\npassword = \"s\"\n[throttles]\nmail = { worker = 5, timeout = 60 }\n");
  home.write("c",
             "[[cron]]\nschedule = \"* * * * *\"\n[cron.job]\ntype = \"C\"\n"
             "[throttles]\nslow = { worker = 5, timeout = 60 }\n");
  CHECK(home.config().throttles.size() == 3);
  CHECK(home.config().cron->items.size() == 1);
  CHECK(home.config().password == "s");
  home.write("d", "[throttles]\nmail = { worker = 5, timeout = 60 }\n");
  CHECK(home.failure().find("d.toml:2: throttles.mail is also at ") != std::string::npos);
}

TEST_CASE("faktory options: a second [statsd] is refused, and names the first") {
  const Home home;
  home.write("a", "[statsd]\nlocation = \"localhost:8125\"\n");
  home.write("b", "\n[statsd]\nlocation = \"localhost:8126\"\n");
  const std::string failure = home.failure();
  CHECK(failure.find("b.toml:2: [statsd] is also at ") != std::string::npos);
  CHECK(failure.find("a.toml:1") != std::string::npos);
}

TEST_CASE("faktory options: what nobody says is as Faktory has it") {
  const Home home;
  const Config config = home.config();
  CHECK(config.faktory->text() == "localhost:7419");
  CHECK_FALSE(config.beanstalk);
  CHECK(config.data == home.storage());
  CHECK(config.password.empty());
  CHECK(config.password_file.empty());
  CHECK_FALSE(config.is_volatile);
}

TEST_CASE("faktory options: flags with one dash or two, with a space or =") {
  const Home home;
  CHECK(home.config({"-b", ":7500"}).faktory->text() == ":7500");
  CHECK(home.config({"--b=127.0.0.1:7501", "-l=debug", "-w", ":0"}).faktory->port == 7501);
}

TEST_CASE("faktory options: 0.0.0.0 is every address, as in Go") {
  const Home home;
  CHECK(home.config({"-b", "0.0.0.0:7500"}).faktory->text() == ":7500");
  CHECK(home.config({"-w", "0.0.0.0:7501"}).web->text() == ":7501");
  CHECK(home.config({"-b", "127.0.0.1:7500"}).faktory->text() == "127.0.0.1:7500");
  CHECK(home.failure({"-b", "0.0.0.0:1", "-w", ":1"}).find("are both :1;") != std::string::npos);
}

TEST_CASE("faktory options: names of the web UI, of the environment or else of a file") {
  const Home home;
  CHECK(home.config().web_hosts.empty());
  CHECK_FALSE(home.config().personality.checks_host_for_others);
  home.write("a", "[web]\nhosts = \"Jobs.example, x y\"\n");
  CHECK(home.failure() == "faktory: web.hosts: 'x y' is not a valid host name\n");
  for (const char* never : {".example", "b\u00fccher.example", "a,,b", "."}) {
    home.write("a", std::string("[web]\nhosts = \"") + never + "\"\n");
    CHECK_MESSAGE(home.failure().ends_with("is not a valid host name\n"), never);
  }
  home.write("a", "[web]\nhosts = \"Jobs.example., b.example\"\n");
  CHECK(home.config().web_hosts == std::vector<std::string>{"jobs.example", "b.example"});
  CHECK(home.config().ignored_keys.empty());
  const Variable hosts("MILLRACE_WEB_HOST", "c.example");
  CHECK(home.config().web_hosts == std::vector<std::string>{"c.example"});
}

TEST_CASE("faktory options: what it does not know ends it with 2") {
  const Home home;
  CHECK(home.read({"-x"}).exit_status == 2);
  CHECK(home.read({"--binding", "a"}).exit_status == 2);
  CHECK(home.read({"-b"}).exit_status == 2);
  CHECK(home.read({"-x"}).errors.starts_with("faktory: "));
}

TEST_CASE("faktory options: the environment is one of three, and empty means the first") {
  const Home home;
  CHECK(home.failure({"-e", "testing"}).find("'testing'") != std::string::npos);
  const Variable environment("FAKTORY_ENV", "");
  CHECK(home.config().password.empty());
}

TEST_CASE("faktory options: production wants a password, unless told otherwise") {
  const Home home;
  const Variable password("FAKTORY_PASSWORD", "");
  const Variable environment("FAKTORY_ENV", "production");
  CHECK(home.failure().find("requires a password") != std::string::npos);
  const Variable skip("FAKTORY_SKIP_PASSWORD", "yes");
  CHECK(home.config().password.empty());
}

TEST_CASE("faktory options: binding and password from a file, however TOML writes them") {
  const Home home;
  CHECK(home.config_by("[faktory]\npassword = \"s\"\n").password == "s");
  CHECK(home.config_by("[faktory] # main\npassword = \"s\" # it\n").password == "s");
  CHECK(home.config_by("[ faktory ]\npassword='s'\n").password == "s");
  CHECK(home.config_by("faktory = { password = \"s\" }\n").password == "s");
  CHECK(home.config_by("faktory.password = \"s\"\n").password == "s");
  CHECK(home.config_by("\xEF\xBB\xBF[faktory]\r\npassword = \"s\"\r\n").password == "s");
  CHECK(home.config_by("[faktory]\nbinding = \":7600\"\n").faktory->text() == ":7600");
}

TEST_CASE("faktory options: a password is what TOML says it is") {
  const Home home;
  CHECK(home.config_by("[faktory]\npassword = \"a#b\"\n").password == "a#b");
  CHECK(home.config_by("[faktory]\npassword = \"a\\\"b\"\n").password == "a\"b");
  CHECK(home.config_by("[faktory]\npassword = \"\\u00e9\"\n").password == "\xC3\xA9");
  CHECK(home.config_by("[faktory]\npassword = \"/run/secret\"\n").password_file == "/run/secret");
}

TEST_CASE("faktory options: what INFO says that the server is") {
  const Home home;
  CHECK(home.config_by("[web]\n").description == "Faktory");
  CHECK(home.config_by("[faktory]\ndescription = \"Faktory Enterprise\"\n").description ==
        "Faktory Enterprise");
  home.write("a", "[faktory]\ndescription = \"a\\nb\"\n");
  CHECK(home.failure().find("faktory.description: must be one line") != std::string::npos);
}

TEST_CASE("faktory options: statsd, as Faktory Enterprise has it") {
  const Home home;
  const Config config = home.config_by("[statsd]\nlocation = \"localhost:8125\"\n");
  CHECK(config.statsd->location.text() == "localhost:8125");
  CHECK(config.ignored_keys.empty());
}

TEST_CASE(
    "faktory options: the time of lost workers by file, variable and flag, the last one wins") {
  const Home home;
  CHECK(home.config().worker_timeout == 60s);
  CHECK(home.config_by("[faktory]\nworker_timeout = 120\n").worker_timeout == 120s);
  CHECK_FALSE(home.config_by("[faktory]\nworker_timeout = \"off\"\n").worker_timeout);
  const Variable variable("MILLRACE_WORKER_TIMEOUT", "5m");
  CHECK(home.config().worker_timeout == 300s);
  CHECK(home.config().ignored_keys.empty());
  CHECK(home.config({"-worker-timeout", "10"}).worker_timeout == 10s);
  CHECK(home.config({"-worker-timeout", "60s"}).worker_timeout == 60s);
  CHECK(home.config({"--worker-timeout=20"}).worker_timeout == 20s);
  CHECK(home.failure({"-worker-timeout", "4"}).starts_with("faktory: -worker-timeout: '4' is not"));
  const Variable empty("MILLRACE_WORKER_TIMEOUT", "");
  CHECK_FALSE(home.config().worker_timeout);
  CHECK(home.failure_by("[faktory]\nworker_timeout = true\n").find("a.toml:2: ") !=
        std::string::npos);
  home.write("a", "");
  const Variable wrong("MILLRACE_WORKER_TIMEOUT", "soon");
  CHECK(home.failure().starts_with("faktory: MILLRACE_WORKER_TIMEOUT: 'soon' is not"));
}

TEST_CASE("faktory options: what is no TOML stops the start, with file and line") {
  const Home home;
  for (const char* text : {"[faktory\npassword = \"s\"\n", "[faktory]\npassword = s\n",
                           "[faktory]\npassword = \"s\n", "[faktory]]\n"}) {
    home.write("a", text);
    CAPTURE(text);
    CHECK(home.failure().find("/conf.d/a.toml:") != std::string::npos);
  }
}

TEST_CASE("faktory options: a password that is no text stops the start") {
  const Home home;
  home.write("a", "[faktory]\npassword = 12345678\n");
  CHECK(home.failure().find("a.toml:2: faktory.password must be") != std::string::npos);
}

TEST_CASE("faktory options: files are one document in alphabetical order") {
  const Home home;
  home.write("b", "password = \"s\"\n[web]\npassword = \"w\"\n");
  home.write("a", "[faktory]\nbinding = \":7600\"\n");
  CHECK(home.config().password == "s");
  CHECK(home.config().faktory->port == 7600);
  home.write("e", "[faktory]\n");
  CHECK(home.failure().find("/conf.d/e.toml:1: ") != std::string::npos);
}

TEST_CASE("faktory options: cron entries of all files") {
  const Home home;
  home.write("c", "[[cron]]\nschedule = \"* * * * *\"\n[cron.job]\ntype = \"C\"\n");
  home.write("d", "[[cron]]\nschedule = \"* * * * *\"\n[cron.job]\ntype = \"D\"\n");
  CHECK(home.config().cron->items.size() == 2);
  home.write("e", "[[cron]]\nschedule = \"* * * *\"\n[cron.job]\ntype = \"E\"\n");
  CHECK(home.failure().find("/conf.d/e.toml:2: schedule ") != std::string::npos);
}

TEST_CASE("faktory options: files of other names, and other tables, mean nothing") {
  const Home home;
  home.scratch().write("files/conf.d/a.toml.old", "broken");
  home.write("a", "[web]\npassword = \"w\"\n[faktory.inner]\npassword = \"i\"\n");
  CHECK(home.config().password.empty());
}

TEST_CASE("faktory options: what has no effect in the files is named, with its line") {
  const Home home;
  home.write("a", "[faktory]\nbinding = \":1\"\ncolour = 1\n[web]\n");
  home.write("b", "\n[license]\nname = \"x\"\nkey = 1\n");
  std::vector<std::string> ignored;
  for (const IgnoredKey& each : home.config().ignored_keys) {
    ignored.push_back(each.key + each.place.substr(each.place.rfind('/')));
  }
  CHECK(ignored == std::vector<std::string>{"license/b.toml:2", "faktory.colour/a.toml:3"});
}

TEST_CASE("faktory options: settings that are no table are named, with their line") {
  const Home home;
  for (const char* const text : {"[[faktory]]\npassword = \"p\"\n", "web = 1\n"}) {
    home.write("a", text);
    CAPTURE(text);
    const auto ignored = home.config().ignored_keys;
    REQUIRE(ignored.size() == 1);
    CHECK(ignored[0].place.ends_with("/a.toml:1"));
  }
}

TEST_CASE("faktory options: variables that have no effect are named, without their values") {
  const Home home;
  const Variable url("REDIS_URL", "redis://:secret@host:6379");
  const Variable provider("REDIS_PROVIDER", "OTHER_URL");
  const Variable clients("FAKTORY_URL", "tcp://:secret@host:7419");
  const Variable preview("FAKTORY2_PREVIEW", "1");
  const Variable mistyped("FAKTORY_PASWORD", "secret");
  const Variable empty("FAKTORY_LICENSE", "");
  const Variable host("FAKTORY_SERVICE_HOST", "10.0.0.1");
  const Variable port("FAKTORY_PORT", "tcp://10.0.0.1:7419");
  const Variable web_port("FAKTORY_WEB_PORT_7420_TCP", "tcp://10.0.0.1:7420");
  std::vector<std::string> ignored;
  for (const IgnoredKey& each : home.config().ignored_keys) {
    CHECK(each.place == "environment");
    ignored.push_back(each.key);
  }
  CHECK(ignored == std::vector<std::string>{"FAKTORY2_PREVIEW", "FAKTORY_PASWORD", "FAKTORY_URL",
                                            "REDIS_PROVIDER", "REDIS_URL"});
}

TEST_CASE("faktory options: variables that are read, and a level of the log") {
  const Home home;
  const Variable environment("FAKTORY_ENV", "development");
  const Variable password("FAKTORY_PASSWORD", "secret");
  const Variable skip("FAKTORY_SKIP_PASSWORD", "1");
  CHECK(home.config().ignored_keys.empty());
  const Config config = home.config({"-l", "debug"});
  REQUIRE(config.ignored_keys.size() == 1);
  CHECK(config.ignored_keys[0].key == "-l");
  CHECK(config.ignored_keys[0].place == "command line");
}

TEST_CASE("faktory options: a folder of files that cannot be read stops the start") {
  const Home home;
  std::filesystem::remove_all(home.scratch().path("files/conf.d"));
  CHECK(home.config().password.empty());
  home.scratch().write("files/conf.d", "a file");
  CHECK(home.failure().find("cannot read config files in") != std::string::npos);
}

TEST_CASE("faktory options: the environment's password overrides the file's, even when empty") {
  const Home home;
  home.write("a", "[faktory]\npassword = \"file\"\n");
  const Variable password("FAKTORY_PASSWORD", "");
  CHECK(home.config().password.empty());
}

TEST_CASE("faktory options: a flag's binding overrides the file's, unless it is the default") {
  const Home home;
  home.write("a", "[faktory]\nbinding = \":7600\"\n");
  CHECK(home.config({"-b", "127.0.0.1:7700"}).faktory->port == 7700);
  CHECK(home.config({"-b", "localhost:7419"}).faktory->port == 7600);
}

TEST_CASE("faktory options: certificate and key in the directory make the port speak TLS") {
  const Home home;
  home.scratch().write("files/public.cert.pem", "c");
  const Config alone = home.config();
  CHECK(alone.tls_certificate_file.empty());
  REQUIRE(alone.ignored_keys.size() == 1);
  CHECK(alone.ignored_keys[0].key == home.scratch().path("files/public.cert.pem"));
  home.scratch().write("files/private.key.pem", "k");
  CHECK(home.config().tls_certificate_file == home.scratch().path("files/public.cert.pem"));
  CHECK(home.config().tls_key_file == home.scratch().path("files/private.key.pem"));
}

TEST_CASE("faktory options: a key that is there and cannot be used stops the start") {
  const Home home;
  home.scratch().write("files/public.cert.pem", "c");
  const std::string key = home.scratch().path("files/private.key.pem");
  std::filesystem::create_symlink(key,
                                  key);  // no file can be found there, as below a locked folder
  CHECK(home.failure().starts_with("faktory: cannot use " + key + ": "));
  std::filesystem::remove(key);
  std::filesystem::create_directory(key);
  CHECK(home.failure() == "faktory: cannot use " + key + ": not a regular file\n");
}

TEST_CASE("faktory options: a start that is refused makes no directory") {
  const Home home;
  CHECK(home.failure({"-worker-timeout", "4"}).find("-worker-timeout") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(home.storage()));
}

}  // namespace millrace::server
