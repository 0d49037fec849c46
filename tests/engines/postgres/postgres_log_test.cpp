/// The log in PostgreSQL, on a server that `with_postgres.py` starts.

#include <sys/resource.h>
#include <sys/socket.h>

#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "engines/contract.hpp"
#include "engines/open.hpp"
#include "engines/postgres/postgres_server.hpp"
#include "support/doctest.hpp"

namespace millrace::engines {
namespace {

using journal::LogService;
using journal::Sequence;
using postgres_server::execute;
using postgres_server::Setting;
using std::chrono::milliseconds;

const Options kUnsynced = {.allows_unsynced = true};

/// Why a log is not opened.
std::string problem_of(const std::string& url, const Options& options = {}) {
  const auto log = open_postgres_log(url, options);
  REQUIRE_FALSE(log.has_value());
  const std::string& text = log.error().text;
  CHECK(text.find('\n') == std::string::npos);
  CHECK(text.find("pass-word") == std::string::npos);
  return text;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

LogService::Answer append_one(LogService& log, Sequence expected_last, const std::string& bytes) {
  (void)log.append(expected_last, bytes);
  const auto answers = log.answers(std::chrono::seconds(20));
  REQUIRE(answers.size() == 1);
  return answers[0];
}

/// How many sockets this process has.
int sockets() {
  int count = 0;
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    int type = 0;
    socklen_t size = sizeof type;
    count += ::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 ? 1 : 0;
  }
  return count;
}

/// Of a server that works again, as soon as that is found.
LogService::Extent extent_of(LogService& log) {
  auto extent = log.extent();
  for (int i = 0; i < 10 && !extent; ++i) extent = log.extent();
  REQUIRE_MESSAGE(extent.has_value(), (extent ? "" : extent.error().text));
  return *extent;
}

}  // namespace

TEST_SUITE_BEGIN("postgres" * doctest::skip(!postgres_server::is_there()));

TEST_CASE("postgres: keeps the contract") {
  for (const ContractCase& each : contract_cases()) {
    SUBCASE(each.name) {
      each.check(postgres_server::new_log());
    }
  }
}

TEST_CASE("postgres: a server that may lose commits is refused, and the setting is named") {
  const std::string url = postgres_server::url();
  CHECK(has(problem_of(url), "synchronous_standby_names"));
  CHECK(has(problem_of(postgres_server::url("options=-csynchronous_commit%3Dlocal")),
            "synchronous_commit is local"));
  {
    const Setting setting("fsync", "off");
    CHECK(has(problem_of(url), "fsync"));
  }
  const Setting setting("full_page_writes", "off");
  CHECK(has(problem_of(url), "full_page_writes"));
}

TEST_CASE("postgres: a wrong password is one line without it") {
  std::string url = postgres_server::url();
  const std::size_t at = url.find('@');
  CHECK(has(problem_of(url.substr(0, at) + "x" + url.substr(at)), "password"));
  const std::size_t colon = url.rfind(':', at);
  url = url.substr(0, colon) + url.substr(at);
  CHECK(has(problem_of(url, {.allows_unsynced = true, .password = "pass-word-of-nobody"}),
            "password authentication failed"));
  const auto refused =
      open_postgres_log(url, {.allows_unsynced = true, .password = "pass-word-of-nobody"});
  CHECK_FALSE(refused.error().is_passing);
  CHECK(open_postgres_log(url, {.allows_unsynced = true, .password = "pass-word-of-tests"}));
}

TEST_CASE("postgres: without a descriptor a log is not opened") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit none = before;
  none.rlim_cur = 3;
  const std::string url = postgres_server::url();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const auto log = open_postgres_log(url, kUnsynced);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK_FALSE(log.has_value());
}

TEST_CASE("postgres: a table that is not a log is refused") {
  execute("CREATE TABLE taken (sequence bigint, bytes bytea)");
  const std::string url = postgres_server::url();
  const std::string taken = url.substr(0, url.find('?')) + "?millrace_log=taken";
  CHECK(has(problem_of(taken, kUnsynced), "taken is not a log"));
  CHECK(execute("SELECT count(*) FROM taken") == "0");
}

TEST_CASE("postgres: a server that takes no writes is refused") {
  const std::string url = postgres_server::url();
  const Setting setting("default_transaction_read_only", "on");
  CHECK(has(problem_of(url, kUnsynced), "read-only"));
}

TEST_CASE(
    "postgres: what is in flight when the server dies is unknown; all works when it is back") {
  const auto log = postgres_server::new_log()();
  REQUIRE_FALSE(append_one(*log, 0, "first").refusal);
  REQUIRE(log->extent());
  const std::string bytes(1'000'000, 'x');
  Sequence last = 1;
  for (int i = 0; i < 20; ++i) last = log->append(last, bytes);
  postgres_server::tell("kill");
  std::vector<LogService::Answer> answers;
  while (answers.size() < 20) {
    for (const auto& answer : log->answers(milliseconds(100))) answers.push_back(answer);
  }
  CHECK(answers.back().refusal == LogService::Refusal::kUnknown);
  CHECK_FALSE(log->extent());
  CHECK_FALSE(log->follow(1, 100, milliseconds(10)));

  postgres_server::tell("start");
  const Sequence end = extent_of(*log).last;
  for (const auto& answer : answers) {
    if (!answer.refusal) CHECK(answer.last <= end);
  }
  CHECK_FALSE(append_one(*log, end, "goes on").refusal);
  CHECK(log->follow(end, 100, milliseconds(10))->entries.at(0).bytes == "goes on");
}

TEST_CASE("postgres: without an answer of the standby, an append is unknown, and extent fails") {
  const OpenLog open = postgres_server::new_log();
  const auto log = open();
  const auto other = open();
  REQUIRE_FALSE(append_one(*log, 0, "one").refusal);
  REQUIRE(other->extent());
  {
    const Setting setting("synchronous_standby_names", "nobody");
    // Commits begin to wait a moment after the setting shows.
    int tries = 0;
    while (tries < 1000 && other->extent()) ++tries;
    CHECK(tries < 1000);
    (void)log->append(1, "two");
    CHECK(log->answers(std::chrono::seconds(20)).at(0).refusal == LogService::Refusal::kUnknown);
  }
  CHECK(extent_of(*log).last == 2);
}

TEST_CASE(
    "postgres: a connection that was lost is not replaced before there is something to send") {
  const auto log = postgres_server::new_log()();
  const int before = sockets();
  REQUIRE_FALSE(append_one(*log, 0, "first").refusal);
  REQUIRE(sockets() == before + 1);
  {
    const Setting setting("synchronous_standby_names", "nobody");
    (void)log->append(1, "second");
    // One that was lost sooner is not replaced at once anyway.
    REQUIRE(log->answers(milliseconds(1100)).empty());
    execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    const auto answers = log->answers(std::chrono::seconds(1));
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].refusal == LogService::Refusal::kUnknown);
    CHECK(sockets() == before);
  }
}

TEST_CASE("postgres: what an administrator lets go on without the standby is unknown") {
  const OpenLog open = postgres_server::new_log();
  const auto log = open();
  const auto other = open();
  REQUIRE_FALSE(append_one(*log, 0, "one").refusal);
  REQUIRE(other->extent());
  const Setting setting("synchronous_standby_names", "nobody");
  (void)log->append(1, "two");
  CHECK(log->answers(milliseconds(100)).empty());
  bool is_known = true;
  std::thread asking([&] { is_known = other->extent().has_value(); });
  int cancelled = 0;
  for (int i = 0; i < 100 && cancelled < 2; ++i) {
    cancelled += std::stoi(
        execute("SELECT count(*) FILTER (WHERE pg_cancel_backend(pid)) FROM pg_stat_activity"
                " WHERE wait_event = 'SyncRep'"));
  }
  asking.join();
  CHECK(cancelled == 2);
  CHECK_FALSE(is_known);
  const auto answers = log->answers(std::chrono::seconds(20));
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].refusal == LogService::Refusal::kUnknown);
}

TEST_CASE("postgres: whoever appends ends a writer that was stopped in the middle of an entry") {
  const std::string url = postgres_server::url();
  const auto log = open_postgres_log(url, kUnsynced);
  REQUIRE(log);
  REQUIRE_FALSE(append_one(**log, 0, "one").refusal);
  const postgres_server::StoppedWriter stopped(url.substr(url.rfind('=') + 1), 2);
  CHECK(append_one(**log, 1, "two").refusal == LogService::Refusal::kUnknown);
  // The first one may have been stored meanwhile, since it waited for the same row.
  (void)append_one(**log, 1, "two");
  CHECK(extent_of(**log).last == 2);
  CHECK((*log)->follow(1, 100, milliseconds(10))->entries.at(0).bytes == "two");
}

TEST_CASE("postgres: a long beginning is trimmed in steps") {
  const std::string url = postgres_server::url();
  const auto log = open_postgres_log(url, kUnsynced);
  REQUIRE(log);
  execute("INSERT INTO " + url.substr(url.rfind('=') + 1) +
          " SELECT n, true, gen_random_uuid(), 'x' FROM generate_series(1, 25000) n");
  REQUIRE((*log)->trim(24000));
  for (int i = 0; i < 500 && extent_of(**log).begin < 24000; ++i) {
    (void)(*log)->answers(milliseconds(10));
  }
  CHECK(extent_of(**log).begin == 24000);
  CHECK(extent_of(**log).last == 25000);
}

TEST_CASE("postgres: a step of the trim ends with an entry, however long that is") {
  const std::string url = postgres_server::url();
  const auto log = open_postgres_log(url, kUnsynced);
  REQUIRE(log);
  const std::string table = url.substr(url.rfind('=') + 1);
  execute("INSERT INTO " + table + " SELECT n, n >= 12, gen_random_uuid(), convert_to(repeat('x'," +
          " 4194304), 'UTF8') FROM generate_series(1, 13) n");
  execute("CREATE TABLE begins (begin bigint)");
  execute("CREATE FUNCTION note_begin() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN" +
          (" INSERT INTO begins SELECT min(sequence) FROM " + table) + "; RETURN NULL; END $$");
  execute("CREATE TRIGGER noting AFTER DELETE ON " + table + " EXECUTE FUNCTION note_begin()");
  REQUIRE((*log)->trim(13));
  while (extent_of(**log).begin < 13) (void)(*log)->answers(milliseconds(1));
  CHECK(execute("SELECT string_agg(begin::text, ' ') FROM begins") == "13");
}

/// A server that stops waits for them.
TEST_CASE("postgres: no connection is begun and left alone while the server is asked where it is") {
  const auto log = postgres_server::new_log()();
  for (Sequence last = 0; last < 3; ++last) REQUIRE_FALSE(append_one(*log, last, "x").refusal);
  REQUIRE(log->extent());
  REQUIRE(log->trim(2));
  while (extent_of(*log).begin < 2) (void)log->answers(milliseconds(10));
  postgres_server::tell("kill");
  {
    postgres_server::SilentServer silent;
    // The one that trims notices that it has no connection, and begins to make one.
    REQUIRE(log->trim(3));
    std::size_t refused = 0;
    for (int i = 0; i < 500 && refused == 0; ++i) {
      (void)log->answers(milliseconds(10));
      refused = silent.refuse_tls();
    }
    CHECK(refused == 1);
    for (int i = 0; i < 2; ++i) CHECK_FALSE(log->extent());
    CHECK(silent.has_heard_all());
  }
  postgres_server::tell("start");
}

TEST_CASE("postgres: a follow that is woken in the middle of a login tells why nothing is read") {
  const auto log = postgres_server::new_log()();
  REQUIRE(log->extent());
  postgres_server::tell("kill");
  {
    postgres_server::SilentServer silent;
    std::size_t begun = 0;
    for (int i = 0; i < 500 && begun == 0; ++i) {
      log->wake();
      CHECK_FALSE(log->follow(0, 100, std::chrono::seconds(20)));
      begun = silent.take();
    }
    REQUIRE(begun == 1);
    log->wake();
    CHECK_FALSE(log->follow(0, 100, std::chrono::seconds(20)));
    CHECK(silent.take() == 1);
  }
  postgres_server::tell("start");
  CHECK(extent_of(*log).last == 0);
}

/// As when a node begins to claim, or to lead, in the middle of a login.
TEST_CASE("postgres: a login that a follow has begun goes on while the log is not read") {
  const auto log = postgres_server::new_log()();
  REQUIRE(log->extent());
  postgres_server::tell("kill");
  {
    postgres_server::SilentServer silent;
    for (int i = 0; i < 500 && silent.take() == 0; ++i) {
      log->wake();
      CHECK_FALSE(log->follow(0, 100, std::chrono::seconds(20)));
    }
    auto answered =
        std::async(std::launch::async, [&] { return log->answers(std::chrono::seconds(2)); });
    // Time to wait for something.
    REQUIRE(answered.wait_for(milliseconds(50)) == std::future_status::timeout);
    REQUIRE(silent.refuse_tls() == 1);
    while (!silent.has_heard_all() &&
           answered.wait_for(milliseconds(10)) == std::future_status::timeout) {
    }
    CHECK(answered.wait_for(milliseconds(0)) == std::future_status::timeout);
    log->wake();
  }
  postgres_server::tell("start");
}

TEST_CASE("postgres: many opening a new log at the same time make one table") {
  const OpenLog open = postgres_server::new_log();
  std::vector<std::unique_ptr<LogService>> logs(4);
  std::vector<std::thread> threads;
  for (auto& log : logs) threads.emplace_back([&] { log = open(); });
  for (std::thread& thread : threads) thread.join();
  Sequence last = 0;
  for (const auto& log : logs) CHECK_FALSE(append_one(*log, last++, "x").refusal);
}

TEST_SUITE_END();

}  // namespace millrace::engines
