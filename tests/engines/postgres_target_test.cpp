#include "engines/postgres_target.hpp"

#include "support/doctest.hpp"

namespace millrace::engines::postgres {
namespace {

Target target_of(const std::string& url, const Options& options = {}) {
  const auto target = read_target(url, options);
  REQUIRE(target);
  return *target;
}

std::string problem_with(const std::string& url) {
  const auto target = read_target(url, {});
  REQUIRE_FALSE(target);
  return target.error().text;
}

}  // namespace

TEST_CASE("postgres target: the URL names the table, and libpq does not see that") {
  CHECK(target_of("postgresql://db/x").table == "millrace_log");
  for (const char* parameters : {"millrace_log=jobs", "millrace_log=jobs&connect_timeout=5",
                                 "connect_timeout=5&millrace_log=jobs"}) {
    const Target target = target_of(std::string("postgresql://db/x?") + parameters);
    CHECK(target.table == "jobs");
    CHECK(target.parameters.at("dbname") == "x");
  }
  CHECK(target_of("postgresql://db/x?connect_timeout=5&millrace_log=jobs")
            .parameters.at("connect_timeout") == "5");
}

TEST_CASE("postgres target: a table has a plain name of 1 to 63 characters") {
  const std::string url = "postgresql://db/x?millrace_log=";
  CHECK(target_of(url + std::string(63, 'a')).table.size() == 63);
  for (const std::string& name : {std::string(64, 'a'), std::string(), std::string("Jobs"),
                                  std::string("a;b"), std::string("\"a\"")}) {
    CHECK(problem_with(url + name).find("names a table") != std::string::npos);
  }
}

TEST_CASE("postgres target: a URL that cannot be read is not quoted with its password") {
  const std::string problem = problem_with("postgresql://user:secret@db/x?nonsense=1");
  CHECK(problem ==
        "the URL of the log is not one of PostgreSQL, or has a parameter that it does not know: "
        "postgresql://db/x");
}

TEST_CASE("postgres target: the URL goes before the options, and the needs of a log are added") {
  const Options options = {.password = "other", .ca_file = "ca.pem"};
  const Target target =
      target_of("postgresql://user:secret@db/x?options=-cwork_mem%3D8MB", options);
  CHECK(target.parameters.at("password") == "secret");
  CHECK(target.parameters.at("sslmode") == "verify-full");
  CHECK(target.parameters.at("sslrootcert") == "ca.pem");
  CHECK(target.parameters.at("target_session_attrs") == "read-write");
  CHECK(target.parameters.at("options").starts_with("-cwork_mem=8MB -c "));
  CHECK(target_of("postgresql://user@db/x", options).parameters.at("password") == "other");
  CHECK(target_of("postgresql://db/x?target_session_attrs=primary")
            .parameters.at("target_session_attrs") == "primary");
}

TEST_CASE("postgres target: the certificate of a server elsewhere is checked with the system's") {
  for (const char* hosts : {"db", "127.0.0.1,10.0.0.1", "localhost.example", "128.0.0.1",
                            "[fd00::1]", "", "127.0.0.1.example"}) {
    const std::string elsewhere = *hosts == '\0' ? "?hostaddr=10.0.0.1" : "";
    const Target target = target_of("postgresql://u@" + std::string(hosts) + "/x" + elsewhere,
                                    {.system_ca_file = "/system"});
    CHECK(target.parameters.at("sslmode") == "verify-full");
    CHECK(target.parameters.at("sslrootcert") == "/system");
    CHECK(target.exposure == "");
    CHECK_FALSE(target.may_be_clear);
  }
  CHECK(target_of("postgresql:///x?service=jobs").parameters.at("sslmode") == "verify-full");
}

TEST_CASE("postgres target: a server on this machine needs no TLS") {
  for (const char* url : {"postgresql:///x", "postgresql://127.1.2.3/x", "postgresql://[::1]:5/x",
                          "postgresql://localhost,127.0.0.1/x", "postgresql:///x?host=/run/pg"}) {
    const Target target = target_of(url);
    CHECK_FALSE(target.parameters.contains("sslmode"));
    CHECK_FALSE(target.may_be_clear);
    CHECK(target.exposure == "");
  }
}

TEST_CASE("postgres target: the URL may give up protection, and that is told") {
  const Target clear = target_of("postgresql://db/x?sslmode=disable&gssencmode=prefer");
  CHECK(clear.exposure == "sslmode=disable: jobs can be read between here and PostgreSQL");
  CHECK(clear.may_be_clear);
  CHECK(clear.parameters.at("gssencmode") == "disable");
  for (const char* mode : {"allow", "prefer"}) {
    CHECK(target_of(std::string("postgresql://db/x?sslmode=") + mode).may_be_clear);
  }
  const Target unchecked = target_of("postgresql://db/x?sslmode=require");
  CHECK(
      unchecked.exposure.starts_with("sslmode=require: PostgreSQL's certificate is not checked:"));
  const Target by_ca = target_of("postgresql://db/x?sslmode=require", {.ca_file = "/ca"});
  CHECK(by_ca.exposure == "sslmode=require: the name in PostgreSQL's certificate is not checked");
  CHECK_FALSE(unchecked.may_be_clear);
  const Target unnamed =
      target_of("postgresql://db/x?sslmode=verify-ca", {.system_ca_file = "/system"});
  CHECK(unnamed.exposure.ends_with("the name in PostgreSQL's certificate is not checked"));
  CHECK(unnamed.parameters.contains("sslrootcert"));
}

TEST_CASE("postgres target: certificates of the URL or of --log-ca go before the system's") {
  Options options = {.system_ca_file = "/system"};
  CHECK(target_of("postgresql://db/x?sslrootcert=/mine", options).parameters.at("sslrootcert") ==
        "/mine");
  options.ca_file = "/ca";
  CHECK(target_of("postgresql://db/x", options).parameters.at("sslrootcert") == "/ca");
}

TEST_CASE("postgres target: the next of several hosts has its turn") {
  Target target = target_of("postgresql://a:1,b:2,c:3/x");
  target.rotate_hosts();
  CHECK(target.parameters.at("host") == "b,c,a");
  CHECK(target.parameters.at("port") == "2,3,1");
  Target alone = target_of("postgresql://a:1/x");
  alone.rotate_hosts();
  CHECK(alone.parameters.at("host") == "a");
}

}  // namespace millrace::engines::postgres
