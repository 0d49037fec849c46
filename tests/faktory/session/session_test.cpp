#include "faktory/session/session.hpp"

#include <charconv>
#include <string>

#include "faktory/job/work_unit.hpp"
#include "faktory/session/auth.hpp"
#include "support/doctest.hpp"
#include "support/house.hpp"

namespace millrace::faktory {
namespace {

using test::House;
using test::Protocol;

constexpr std::string_view kHi = "+HI {\"v\":2}\r\n";

/// A producer or worker that has shaken hands.
void join(House& house, const std::string& name, const std::string& wid = "") {
  house.connect(name, Protocol::kFaktory);
  CHECK(house.take_output(name) == kHi);
  CHECK(house.ask(name, "HELLO {\"v\":2,\"wid\":\"" + wid + "\"}\r\n") == "+OK\r\n");
}

House::Options with_password(const std::string& password) {
  House::Options options;
  options.faktory.password = password;
  return options;
}

/// What the greeting asks for.
Challenge challenge_in(const std::string& hi) {
  Challenge challenge;
  const std::size_t iterations_at = hi.find("\"i\":") + 4;
  std::from_chars(hi.data() + iterations_at, hi.data() + hi.size(), challenge.iterations);
  const std::size_t salt_at = hi.find("\"s\":\"") + 5;
  challenge.salt = hi.substr(salt_at, hi.find('"', salt_at) - salt_at);
  return challenge;
}

Challenge greeting(House& house, const std::string& name) {
  house.connect(name, Protocol::kFaktory);
  return challenge_in(house.take_output(name));
}

std::string hello(const std::string& version, const std::string& hash) {
  return "HELLO {" + version + "\"pwdhash\":\"" + hash + "\"}\r\n";
}

/// So many clients `wrong0`, `wrong1`, ..., each with a wrong password.
void try_wrong(House& house, int count) {
  for (int i = 0; i < count; ++i) {
    const std::string name = "wrong" + std::to_string(i);
    greeting(house, name);
    house.send(name, hello("", "x"));
  }
}

/// How many of them have got their answer since the last call.
int count_answered(House& house, int count) {
  int answered = 0;
  for (int i = 0; i < count; ++i) {
    if (!house.take_output("wrong" + std::to_string(i)).empty()) ++answered;
  }
  return answered;
}

std::string job(const std::string& jid, const std::string& more = "") {
  return R"({"jid":")" + jid + R"(","jobtype":"T","args":[],"created_at":"c")" + more + "}";
}

/// The payload of a bulk reply.
std::string payload(const std::string& reply) {
  const std::size_t start = reply.find("\r\n") + 2;
  return reply.substr(start, reply.size() - start - 2);
}

std::string info(House& house, const std::string& name) {
  return payload(house.ask(name, "INFO\r\n"));
}

const WorkUnits& test_format() {
  static const WorkUnits format;
  return format;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("password: the right one") {
  House house(with_password("secret"));
  const Challenge challenge = greeting(house, "a");
  CHECK(challenge.iterations >= 4000);
  CHECK(house.ask("a", hello("\"v\":2,", password_hash("secret", challenge))) == "+OK\r\n");
}

TEST_CASE("password: each connection has its own challenge") {
  House house(with_password("secret"));
  CHECK(greeting(house, "a").salt != greeting(house, "b").salt);
}

TEST_CASE("password: the wrong one") {
  House house(with_password("secret"));
  const Challenge challenge = greeting(house, "a");
  CHECK(house.ask("a", hello("\"v\":2,", password_hash("Secret", challenge))) ==
        "-ERR Invalid password\r\n");
  CHECK_FALSE(house.is_open("a"));
}

TEST_CASE("password: the hash is compared as text") {
  House house(with_password("secret"));
  std::string hash = password_hash("secret", greeting(house, "a"));
  for (char& c : hash) c = static_cast<char>(std::toupper(c));
  CHECK(house.ask("a", hello("\"v\":2,", hash)) == "-ERR Invalid password\r\n");
}

TEST_CASE("password: before version 2 it is hashed once") {
  House house(with_password("secret"));
  Challenge challenge = greeting(house, "a");
  challenge.iterations = 1;
  CHECK(house.ask("a", hello("", password_hash("secret", challenge))) == "+OK\r\n");
  challenge = greeting(house, "b");
  challenge.iterations = 1;
  CHECK(house.ask("b", hello("\"v\":1,", password_hash("secret", challenge))) == "+OK\r\n");
  challenge = greeting(house, "c");
  challenge.iterations = 1;
  CHECK(house.ask("c", hello("\"v\":2,", password_hash("secret", challenge))) ==
        "-ERR Invalid password\r\n");
}

TEST_CASE("password: without one a hash means nothing") {
  House house;
  house.connect("a", Protocol::kFaktory);
  CHECK(house.take_output("a") == kHi);
  CHECK(house.ask("a", hello("\"v\":2,", "junk")) == "+OK\r\n");
}

TEST_CASE("both protocols: put text arrives as a work unit") {
  House house;
  house.connect("put", Protocol::kBeanstalk);
  join(house, "worker", "w");
  CHECK(house.ask("put", "use mail\r\nput 0 0 10 5\r\nhello\r\n") ==
        "USING mail\r\nINSERTED 1\r\n");
  CHECK(payload(house.ask("worker", "FETCH mail\r\n")) ==
        R"({"retry":25,"jid":"beanstalk-1","queue":"mail","jobtype":"beanstalk",)"
        R"("created_at":"2023-11-14T22:13:20Z","enqueued_at":"2023-11-14T22:13:20Z",)"
        R"("args":["hello"],"reserve_for":10})");
  CHECK(house.ask("worker", "ACK {\"jid\":\"beanstalk-1\"}\r\n") == "+OK\r\n");
  CHECK(house.ask("put", "stats-job 1\r\n") == "NOT_FOUND\r\n");
}

TEST_CASE("both protocols: put JSON that is a work unit") {
  House house;
  house.connect("put", Protocol::kBeanstalk);
  join(house, "worker", "w");
  const std::string body = R"({"jobtype":"T","args":[1]})";
  CHECK(house.ask("put", "put 0 0 10 26\r\n" + body + "\r\n") == "INSERTED 1\r\n");
  CHECK(contains(house.ask("worker", "FETCH default\r\n"),
                 R"("jid":"beanstalk-1","queue":"default","jobtype":"T")"));
}

TEST_CASE("both protocols: put bytes arrive in base64") {
  House house;
  house.connect("put", Protocol::kBeanstalk);
  join(house, "worker", "w");
  CHECK(house.ask("put", "put 0 0 10 2\r\n\xFF\xFE\r\n") == "INSERTED 1\r\n");
  const std::string text = house.ask("worker", "FETCH default\r\n");
  CHECK(contains(text, R"("custom":{"encoding":"base64"})"));
  CHECK(contains(text, R"("args":["//4="])"));
}

TEST_CASE("both protocols: a put job that fails is retried, and released for beanstalk too") {
  House house;
  house.connect("put", Protocol::kBeanstalk);
  join(house, "worker", "w");
  CHECK(house.ask("put", "put 0 0 10 1\r\nx\r\n") == "INSERTED 1\r\n");
  CHECK(contains(house.ask("worker", "FETCH default\r\n"), "beanstalk-1"));
  CHECK(house.ask("worker", "FAIL {\"jid\":\"beanstalk-1\"}\r\n") == "+OK\r\n");
  CHECK(contains(house.ask("put", "stats-job 1\r\n"), "state: delayed"));
  house.advance(45s);
  CHECK(contains(house.ask("put", "reserve-with-timeout 0\r\n"), "RESERVED 1 1\r\nx\r\n"));
}

TEST_CASE("both protocols: a reservation of a put job lasts its own TTR") {
  House house;
  house.connect("put", Protocol::kBeanstalk);
  join(house, "worker", "w");
  CHECK(house.ask("put", "put 0 0 3 1\r\nx\r\n") == "INSERTED 1\r\n");
  CHECK(contains(house.ask("worker", "FETCH default\r\n"), "beanstalk-1"));
  house.advance(3s);
  CHECK(contains(info(house, "worker"), R"("retries":1)"));
}

TEST_CASE("both protocols: a pushed job is reserved as the JSON that FETCH returns") {
  House house;
  house.connect("reserve", Protocol::kBeanstalk);
  join(house, "push");
  CHECK(house.ask("push", "PUSH " + job("12345678", R"(,"reserve_for":90)") + "\r\n") == "+OK\r\n");
  const std::string text =
      R"({"retry":25,"jid":"12345678","queue":"default","jobtype":"T","created_at":"c",)"
      R"("enqueued_at":"2023-11-14T22:13:20Z","args":[],"reserve_for":90})";
  CHECK(house.ask("reserve", "reserve\r\n") ==
        "RESERVED 1 " + std::to_string(text.size()) + "\r\n" + text + "\r\n");
  CHECK(contains(house.ask("reserve", "stats-job 1\r\n"), "ttr: 90\n"));
  CHECK(house.ask("reserve", "delete 1\r\n") == "DELETED\r\n");
  CHECK(contains(info(house, "push"), R"("total_processed":1)"));
}

TEST_CASE("both protocols: a pushed job that is buried is dead") {
  House house;
  house.connect("reserve", Protocol::kBeanstalk);
  join(house, "push");
  CHECK(house.ask("push", "PUSH " + job("12345678") + "\r\n") == "+OK\r\n");
  CHECK(contains(house.ask("reserve", "reserve\r\n"), "RESERVED 1"));
  CHECK(house.ask("reserve", "bury 1 0\r\n") == "BURIED\r\n");
  CHECK(contains(info(house, "push"), R"("dead":1)"));
}

TEST_CASE("both protocols: a fetching worker wakes up for a put") {
  House house;
  house.connect("put", Protocol::kBeanstalk);
  join(house, "worker", "w");
  CHECK(house.ask("worker", "FETCH default\r\n").empty());
  CHECK(house.ask("put", "put 0 0 10 1\r\nx\r\n") == "INSERTED 1\r\n");
  CHECK(contains(house.take_output("worker"), "beanstalk-1"));
}

TEST_CASE("FETCH: who waits is given exactly the job that another client pushes") {
  House house;
  join(house, "worker", "w");
  join(house, "push");
  CHECK(house.ask("worker", "FETCH default\r\n").empty());
  CHECK(house.ask("push", "PUSH " + job("12345678") + "\r\n") == "+OK\r\n");
  const std::string text =
      R"({"retry":25,"jid":"12345678","queue":"default","jobtype":"T","created_at":"c",)"
      R"("enqueued_at":"2023-11-14T22:13:20Z","args":[]})";
  CHECK(house.take_output("worker") == "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n");
  house.connect("peek", Protocol::kBeanstalk);
  CHECK(house.ask("push", "PUSH " + job("23456789") + "\r\n") == "+OK\r\n");
  CHECK(contains(house.ask("peek", "peek-ready\r\n"), "\r\n{\"retry\":25,\"jid\":\"23456789\""));
}

TEST_CASE("both protocols: tubes with names of their own are not for FWP") {
  House house;
  house.connect("put", Protocol::kBeanstalk);
  join(house, "worker", "w");
  CHECK(house.ask("put", "use a+b\r\nput 0 0 10 1\r\nx\r\n") == "USING a+b\r\nINSERTED 1\r\n");
  CHECK(house.ask("worker", "FETCH a+b\r\n").empty());
  house.advance(kFetchWait);
  CHECK(house.take_output("worker") == "$-1\r\n");
  CHECK(house.ask("worker", "QUEUE PAUSE *\r\n") == "+OK\r\n");
  CHECK(contains(house.ask("put", "watch a+b\r\nreserve-with-timeout 0\r\n"), "RESERVED 1 1"));
}

TEST_CASE("PUSHB: more jobs than one slice") {
  House house;
  join(house, "a");
  std::string jobs;
  for (int i = 0; i < 1'201; ++i) jobs += job("job-" + std::to_string(100'000 + i)) + ",";
  CHECK(house.ask("a", "PUSHB [" + jobs + "{}]\r\nACK {\"jid\":\"x\"}\r\n") ==
        "$48\r\n{\"\":\"jobs must have a reasonable jid parameter\"}\r\n+OK\r\n");
  CHECK(contains(info(house, "a"), R"("default":1201)"));
  CHECK(contains(house.ask("a", "FETCH default\r\n"), "job-100000"));
}

TEST_CASE("PUSHB: is read in slices, and what is wrong at its end leaves nothing pushed") {
  House house;
  join(house, "b");
  WorkUnits format;
  Service service(house.broker(), format, {}, house.now());
  const std::unique_ptr<Session> session = service.open();
  session->start(house.now());
  session->receive("HELLO {\"v\":2}\n", house.now());
  session->output().clear();
  std::string jobs;
  while (jobs.size() < 2 * kBulkSliceBytes) jobs += job("job-12345") + ",";
  session->receive("PUSHB [" + jobs + "7]\nACK {\"jid\":\"x\"}\n", house.now());
  CHECK(session->output().empty());
  CHECK(session->wants_resume());
  while (session->wants_resume()) session->resume(house.now());
  CHECK(session->output() == "-ERR invalid JSON: a job must be an object\r\n+OK\r\n");
  CHECK(contains(info(house, "b"), R"("total_enqueued":0)"));
  session->close(house.now());
}

TEST_CASE("PUSHB: all jobs are created when it came, however long it takes") {
  House house;
  WorkUnits format;
  Service service(house.broker(), format, {}, house.now());
  const std::unique_ptr<Session> session = service.open();
  const Time came = house.now() + 1ns;
  session->start(came);
  session->receive("HELLO {\"v\":2}\n", came);
  std::string jobs;
  for (int i = 0; i < 1'201; ++i) {
    jobs += "," + std::string(R"({"jid":"12345678","jobtype":"T","args":[]})");
  }
  session->receive("PUSHB [" + jobs.substr(1) + "]\n", came);
  Time now = came;
  while (session->wants_resume()) session->resume(now += 1s);
  CHECK(now > came);
  const View view = house.broker().view();
  for (JobId id = 1; id <= 1'201; ++id) CHECK(view.find(id)->created_at == came);
  CHECK(view.find(1'201)->enqueued_at == now);
  std::string shown;
  format.render(*view.find(1'201), "default", shown);
  CHECK(contains(shown, R"("created_at":"2023-11-14T22:13:20.000000001Z","enqueued_at":)"));
  session->close(now);
}

TEST_CASE("PUSHB: large jobs are pushed as far as a batch of records goes, then the others") {
  House house;
  join(house, "a");
  const std::string large = R"(,"custom":{"x":")" + std::string(400'000, 'x') + R"("})";
  std::string jobs;
  for (int i = 0; i < 10; ++i) jobs += "," + job("job-" + std::to_string(100'000 + i), large);
  CHECK(house.ask("a", "PUSHB [" + jobs.substr(1) + "]\n") == "$2\r\n{}\r\n");
  std::size_t total = 0;
  for (const std::string& batch : house.take_batches()) {
    total += batch.size();
    CHECK(batch.size() < kBatchBytesPause + 500'000);
  }
  CHECK(total > 4'000'000);
}

TEST_CASE("PUSHB: a client that closes its side gets the answer of a long one") {
  House house;
  join(house, "a");
  join(house, "b");
  std::string jobs;
  for (int i = 0; i < 1'201; ++i) jobs += "," + job("job-" + std::to_string(100'000 + i));
  house.send("a", "PUSHB [" + jobs.substr(1) + "]\n");
  house.half_close("a");
  CHECK(house.take_output("a") == "$2\r\n{}\r\n");
  CHECK_FALSE(house.is_open("a"));
  CHECK(contains(info(house, "b"), R"("default":1201)"));
}

TEST_CASE("FLUSH: more jobs than one slice") {
  House house;
  join(house, "a");
  std::string jobs;
  for (int i = 0; i < 1'201; ++i) jobs += "," + job("job-" + std::to_string(100'000 + i));
  CHECK(house.ask("a", "PUSHB [" + jobs.substr(1) + "]\r\n") == "$2\r\n{}\r\n");
  CHECK(house.ask("a", "FLUSH\r\n") == "+OK\r\n");
  CHECK(contains(info(house, "a"), R"("total_enqueued":0)"));
}

TEST_CASE("input behind a waiting FETCH is bounded") {
  House house;
  join(house, "a", "w");
  CHECK(house.ask("a", "FETCH q\r\n").empty());
  const std::string beat = "BEAT {\"wid\":\"w\"}\r\n";
  std::string beats;
  for (int i = 0; i < 10'000; ++i) beats += beat;
  house.send("a", beats, 4096);
  CHECK(house.take_output("a").empty());
  house.advance(kFetchWait);
  CHECK(house.take_output("a").size() == 5 + 10'000 * 5);
}

TEST_CASE("a client that does not read stops being served, and goes on later") {
  House house;
  join(house, "a");
  CHECK(contains(house.ask("a", "INFO\r\n"), "\"now\""));
  house.hold_output("a", true);
  std::string commands;
  for (int i = 0; i < 2'000; ++i) commands += "INFO\r\n";
  house.send("a", commands);
  house.hold_output("a", false);
  const std::string output = house.take_output("a");
  CHECK(contains(output, "\"command_count\":2001,"));
}

TEST_CASE("INFO counts handshaken connections") {
  House house;
  join(house, "a");
  join(house, "b");
  house.connect("stranger", Protocol::kFaktory);
  CHECK(contains(info(house, "a"), R"("connections":2)"));
  house.close("b");
  CHECK(contains(info(house, "a"), R"("connections":1)"));
}

TEST_CASE("a scheduled job that is pushed has no queue until it is due") {
  House house;
  join(house, "a");
  CHECK(house.ask("a", "PUSH " + job("12345678", R"(,"at":"2023-11-14T22:14:20Z")") + "\r\n") ==
        "+OK\r\n");
  CHECK(contains(info(house, "a"), R"("scheduled":1)"));
  house.advance(60s);
  CHECK(contains(info(house, "a"),
                 R"("queues":{"default":1},"sets":{"dead":0,"retries":0,"scheduled":0)"));
}

TEST_CASE("a pushed failure is honoured by the retry rule") {
  House house;
  join(house, "a");
  const std::string failure =
      R"(,"retry":2,"failure":{"retry_count":1,"remaining":1,"errtype":"E","message":"m"})";
  CHECK(house.ask("a", "PUSH " + job("12345678", failure) + "\r\n") == "+OK\r\n");
  CHECK(contains(house.ask("a", "FETCH default\r\n"), R"("retry_count":1,"remaining":1)"));
  CHECK(house.ask("a", "FAIL {\"jid\":\"12345678\"}\r\n") == "+OK\r\n");
  CHECK(contains(info(house, "a"), R"("dead":1)"));
}

TEST_CASE("a backtrace of 60 lines is cut to 50") {
  House house;
  join(house, "a");
  CHECK(house.ask("a", "PUSH " + job("12345678", R"(,"retry":1)") + "\r\n") == "+OK\r\n");
  CHECK(contains(house.ask("a", "FETCH default\r\n"), "12345678"));
  std::string backtrace = "\"line0\"";
  for (int i = 1; i < 60; ++i) backtrace += ",\"line" + std::to_string(i) + "\"";
  CHECK(house.ask("a", "FAIL {\"jid\":\"12345678\",\"backtrace\":[" + backtrace + "]}\r\n") ==
        "+OK\r\n");
  house.advance(45s);
  const std::string text = house.ask("a", "FETCH default\r\n");
  CHECK(contains(text, R"("line49"])"));
}

TEST_CASE("fetch: a job whose reply could not be sent is given back") {
  House house;
  join(house, "worker", "w");
  join(house, "push");
  CHECK(house.ask("push", "PUSH " + job("12345678") + "\r\n") == "+OK\r\n");
  house.hold_output("worker", true);
  house.send("worker", "FETCH default\r\n");
  CHECK(contains(info(house, "push"), R"("working":1)"));
  house.close("worker");
  const std::string after = info(house, "push");
  CHECK(contains(after, R"("queues":{"default":1})"));
  CHECK(contains(after, R"("total_failures":0,"total_processed":0)"));
}

TEST_CASE("fetch: a job whose reply was sent stays with its worker") {
  House house;
  join(house, "worker", "w");
  join(house, "push");
  CHECK(house.ask("push", "PUSH " + job("12345678") + "\r\n") == "+OK\r\n");
  house.send("worker", "FETCH default\r\n");
  house.close("worker");
  CHECK(contains(info(house, "push"), R"("working":1)"));
}

TEST_CASE("fetch: of several, those are given back whose replies were not sent") {
  House house;
  join(house, "worker", "w");
  join(house, "push");
  CHECK(house.ask("push", "PUSH " + job("12345678") + "\r\n") == "+OK\r\n");
  CHECK(house.ask("push", "PUSH " + job("23456789") + "\r\n") == "+OK\r\n");
  CHECK(contains(house.ask("worker", "INFO\r\nFETCH default\r\n"), "12345678"));
  house.hold_output("worker", true);
  house.send("worker", "INFO\r\nFETCH default\r\n");
  house.close("worker");
  CHECK(contains(info(house, "push"), R"("working":1)"));
  CHECK(contains(house.ask("push", "FETCH default\r\n"), "23456789"));
}

TEST_CASE("fetch: a job that is given back does not go to the connection that is closing") {
  House house;
  join(house, "worker", "w");
  join(house, "push");
  CHECK(house.ask("push", "PUSH " + job("12345678") + "\r\n") == "+OK\r\n");
  house.hold_output("worker", true);
  house.send("worker", "FETCH default\r\nFETCH default\r\n");
  house.close("worker");
  CHECK(contains(info(house, "push"), R"("working":0)"));
}

TEST_CASE("fetch: a job that was acknowledged elsewhere is not given back") {
  House house;
  join(house, "worker", "w");
  join(house, "push");
  CHECK(house.ask("push", "PUSH " + job("12345678") + "\r\n") == "+OK\r\n");
  house.hold_output("worker", true);
  house.send("worker", "FETCH default\r\n");
  CHECK(house.ask("push", "ACK {\"jid\":\"12345678\"}\r\n") == "+OK\r\n");
  house.close("worker");
  CHECK(contains(info(house, "push"), R"("total_processed":1)"));
}

TEST_CASE("password: a hash is made piece by piece, one client at a time") {
  Ledger ledger;
  Broker broker(ledger, test_format(), {});
  Settings settings;
  settings.password = "secret";
  settings.random = [] { return 4095; };
  Service service(broker, test_format(), settings, Time{});
  const auto first = service.open("a");
  const auto second = service.open("b");
  first->start(Time{});
  second->start(Time{});
  first->receive("HELLO {\"v\":2,\"pwdhash\":\"x\"}\n", Time{});
  second->receive("HELLO {\"v\":2,\"pwdhash\":\"x\"}\n", Time{});
  int turns = 1;
  for (; first->wants_resume() && !first->wants_close(); ++turns) first->resume(Time{});
  CHECK(turns == 16);
  CHECK_FALSE(second->wants_close());
  for (; second->wants_resume() && !second->wants_close(); ++turns) second->resume(Time{});
  CHECK(turns == 32);
}

TEST_CASE("password: who leaves in the middle of it holds nobody up") {
  Ledger ledger;
  Broker broker(ledger, test_format(), {});
  Settings settings;
  settings.password = "secret";
  settings.random = [] { return 4095; };
  Service service(broker, test_format(), settings, Time{});
  const auto first = service.open("a");
  const auto second = service.open("b");
  first->start(Time{});
  second->start(Time{});
  first->receive("HELLO {\"v\":2,\"pwdhash\":\"x\"}\n", Time{});
  second->receive("HELLO {\"v\":2,\"pwdhash\":\"x\"}\n", Time{});
  first->close(Time{});
  while (second->wants_resume()) second->resume(Time{});
  CHECK(contains(second->output(), "-ERR Invalid password"));
}

TEST_CASE("password: of many tries at once a few are looked at, the others wait") {
  House house(with_password("secret"));
  try_wrong(house, 200);
  CHECK(count_answered(house, 200) == kFreeFailures + 1);
  house.advance(kTurnPause - 1ms);
  CHECK(count_answered(house, 200) == 0);
  house.advance(9 * kTurnPause);
  const int answered = count_answered(house, 200);
  CHECK(answered > 50);
  CHECK(answered < 110);
  house.advance(kTurnWaitMax);
  CHECK(count_answered(house, 200) == 196 - answered);
}

TEST_CASE("password: the right one gets in while others of the address try wrong ones") {
  House house(with_password("secret"));
  try_wrong(house, 900);
  const Challenge challenge = greeting(house, "right");
  house.send("right", hello("\"v\":2,", password_hash("secret", challenge)));
  house.advance(kTurnPause);
  CHECK(house.take_output("right").empty());
  house.advance(kTurnWaitMax);
  CHECK(house.take_output("right") == "+OK\r\n");
}

TEST_CASE("password: many right ones are not slowed down") {
  House house(with_password("secret"));
  for (int i = 0; i < 50; ++i) {
    const std::string name = "right" + std::to_string(i);
    const Challenge challenge = greeting(house, name);
    CHECK(house.ask(name, hello("", password_hash("secret", {1, challenge.salt}))) == "+OK\r\n");
  }
}

TEST_CASE("password: who waits for a turn longer than for the handshake is not sent away") {
  House house(with_password("secret"));
  try_wrong(house, 4 + 900);
  house.advance(kHandshakeLimit + 500ms);
  CHECK(house.is_open("wrong903"));
  house.advance(kTurnWaitMax);
  CHECK(house.take_output("wrong903") == "-ERR Invalid password\r\n");
}

TEST_CASE("password: when too many wait, one more is sent away; who leaves makes room") {
  House house(with_password("secret"));
  try_wrong(house, static_cast<int>(kFreeFailures + 1 + kWaitingOfPeerMax));
  const Challenge challenge = greeting(house, "late");
  CHECK(house.ask("late", hello("", "x")).empty());
  CHECK_FALSE(house.is_open("late"));
  house.close("wrong500");
  greeting(house, "later");
  CHECK(house.ask("later", hello("", "x")).empty());
  CHECK(house.is_open("later"));
}

TEST_CASE("fetch: what a worker waits for is a tube as long as it waits, and no queue of INFO") {
  House house;
  join(house, "worker", "w");
  house.connect("tube", Protocol::kBeanstalk);
  house.send("worker", "FETCH ghost\r\n");
  CHECK(contains(house.ask("tube", "list-tubes\r\n"), "- ghost\n"));
  join(house, "asks");
  CHECK_FALSE(contains(info(house, "asks"), "ghost"));
  house.advance(kFetchWait);
  CHECK_FALSE(contains(house.ask("tube", "list-tubes\r\n"), "- ghost\n"));
}

TEST_CASE("mutate: a long one is answered when it is through") {
  House house;
  join(house, "a");
  std::string batch = "PUSHB [";
  for (int i = 0; i < 1'200; ++i) {
    batch += (i == 0 ? "" : ",") +
             job("job-" + std::to_string(10'000 + i), R"(,"at":"2100-01-01T00:00:00Z")");
  }
  CHECK(house.ask("a", batch + "]\r\n") == "$2\r\n{}\r\n");
  CHECK(house
            .ask("a",
                 "MUTATE {\"cmd\":\"kill\",\"target\":\"scheduled\",\"filter\":"
                 "{\"jobtype\":\"T\"}}\r\nTRACK\r\n")
            .starts_with("+OK\r\n-ERR tracking"));
  CHECK(contains(info(house, "a"), R"("dead":1200)"));
}

}  // namespace millrace::faktory
