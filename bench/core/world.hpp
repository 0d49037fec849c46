#pragma once

#include <valgrind/callgrind.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/users.hpp"
#include "base/check.hpp"
#include "beanstalk/service.hpp"
#include "core/broker/broker.hpp"
#include "faktory/job/work_unit.hpp"
#include "faktory/service.hpp"
#include "faktory/session/auth.hpp"

namespace millrace {

/// Callgrind counts where this is: the server's part of an operation, and not the making of
/// commands, whose strings the compiler inlines now here and now there. Elsewhere it does nothing.
struct Counting {
  Counting() { CALLGRIND_TOGGLE_COLLECT; }
  ~Counting() { CALLGRIND_TOGGLE_COLLECT; }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;
};

/// The protocols and the core without journal and network, and one client of each protocol whose
/// jobs have bodies of 128 bytes. What is recorded gets its place and is thrown away, as a volatile
/// journal does.
struct World {
  explicit World(const Broker::Options& options = {}) : broker(ledger, format, options) {
    beanstalk->start(now);
    greet();
  }
  ~World() {
    beanstalk->close(now);
    faktory->close(now);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void greet() {
    faktory->start(now);
    tell(*faktory, "HELLO {\"v\":2,\"wid\":\"w\",\"pid\":1,\"hostname\":\"h\",\"labels\":[]}\r\n");
  }

  /// The answer is valid until the next call.
  const std::string& tell(Session& session, std::string_view command) {
    answer.clear();
    // Another thread does that.
    if (ahead && &session == faktory.get()) ahead->read(command);
    const Counting counting;
    session.receive(command, now);
    end_turn();
    answer = session.take_output(std::move(answer));
    return answer;
  }

  void end_turn() {
    (void)broker.take_woken();
    if (!ledger.has_batch()) return;
    const RecordBatch batch = ledger.take_batch();
    ledger.place(log_end);
    log_end += batch.size();
    if (log != nullptr) log->append(batch);
  }

  void put() { tell(*beanstalk, put_command); }
  void put_delayed() { tell(*beanstalk, put_delayed_command); }

  /// Reserves a job, and then says `verb ID` and its arguments.
  void reserve_and(std::string_view verb, std::string_view arguments = "") {
    const std::string& reserved = tell(*beanstalk, "reserve\r\n");
    const std::string id = reserved.substr(9, reserved.find(' ', 9) - 9);
    tell(*beanstalk, std::string(verb) + " " + id + std::string(arguments) + "\r\n");
  }

  void put_reserve_delete() {
    put();
    reserve_and("delete");
  }

  /// The JSON of the next job to be pushed, with these members besides the usual ones.
  std::string next_job(std::string_view more = "") { return next_job_of(body, more); }
  std::string next_job_of(std::string_view argument, std::string_view more) {
    return R"({"jid":"job-)" + std::to_string(++pushed) +
           R"(-abcdef","jobtype":"SomeJob","args":[")" + std::string(argument) +
           R"("],"queue":"default")" + std::string(more) + "}";
  }

  void push() { tell(*faktory, "PUSH " + next_job() + "\r\n"); }
  /// With a client whose socket has a thread of its own.
  void push_ahead() {
    if (!ahead) {
      faktory->close(now);
      faktory = faktory_service.open();
      ahead = faktory->make_read_ahead();
      greet();
    }
    push();
  }
  void push_ahead_fetch_ack() {
    push_ahead();
    fetch_and("ACK");
  }
  void push_scheduled() {
    tell(*faktory, "PUSH " + next_job(R"(,"at":"2100-01-01T00:00:00Z")") + "\r\n");
  }

  void push_ten() {
    std::string jobs = next_job();
    for (int i = 1; i < 10; ++i) jobs += "," + next_job();
    tell(*faktory, "PUSHB [" + jobs + "]\r\n");
  }

  /// Fetches a job, and then says `verb` of it, with these members besides its jid.
  void fetch_and(std::string_view verb, std::string_view more = "") {
    tell(*faktory, "FETCH default\r\n");
    tell(*faktory, std::string(verb) + R"( {"jid":"job-)" + std::to_string(++ended) +
                       R"(-abcdef")" + std::string(more) + "}\r\n");
  }

  void push_fetch_ack() {
    push();
    fetch_and("ACK");
  }

  /// All have other arguments, so each has a lock of its own. They are as long as those of a plain
  /// job: only the `custom` is to make a difference.
  void push_unique() {
    const std::string number = std::to_string(pushed + 1);
    const std::string argument = number + body.substr(number.size());
    tell(*faktory, "PUSH " + next_job_of(argument, R"(,"custom":{"unique_for":600})") + "\r\n");
  }
  /// As long as that of a unique job, and the server knows none of it.
  void push_with_custom() {
    tell(*faktory, "PUSH " + next_job(R"(,"custom":{"unknown_me":600})") + "\r\n");
  }
  void push_member() {
    tell(*faktory, "PUSH " + next_job(R"(,"custom":{"bid":")" + bid + R"("})") + "\r\n");
  }
  void push_fetch_ack_member() {
    push_member();
    fetch_and("ACK");
  }
  /// A batch that stays open, to whose members `push_member` adds one.
  void open_batch() {
    const std::string& answered =
        tell(*faktory, R"(BATCH NEW {"success":{"jobtype":"Done","args":[]}})"
                       "\r\n");
    bid = answered.substr(5, 16);
  }

  void push_tracked() { tell(*faktory, "PUSH " + next_job(R"(,"custom":{"track":1})") + "\r\n"); }
  void push_fetch_ack_tracked() {
    push_tracked();
    fetch_and("ACK");
  }
  /// Of the job that was pushed last.
  void track() {
    const std::string jid = "job-" + std::to_string(pushed) + "-abcdef";
    tell(*faktory, R"(TRACK SET {"jid":")" + jid +
                       R"(","percent":12,"desc":"so far"})"
                       "\r\n");
    tell(*faktory, "TRACK GET " + jid + "\r\n");
  }

  void push_fetch_fail() {
    push();
    fetch_and("FAIL",
              R"(,"errtype":"Error","message":"it failed","backtrace":["a:1","b:2","c:3"])");
  }

  /// From now on the clients are one of so many users.
  void have_users(std::size_t count) {
    std::vector<access::User> users(count);
    for (access::User& user : users) {
      user.name = "user-" + std::to_string(&user - users.data());
      user.grants = {{.queues = {"default"}, .may = {access::Right::kPush, access::Right::kWork}}};
      user.secrets = {"a long secret of " + user.name};
    }
    const std::string secret = users.back().secrets.front();
    const auto shared = std::make_shared<const access::Users>(std::move(users));
    beanstalk->close(now);
    beanstalk = beanstalk_service.open(access::Caller(shared, shared->all().back()));
    beanstalk->start(now);
    faktory->close(now);
    faktory_service.set_users(shared);
    faktory = faktory_service.open();
    faktory->start(now);
    log_in(secret);
  }

  void log_in(std::string_view secret) {
    const std::string greeting = faktory->take_output();
    const nlohmann::json asked = nlohmann::json::parse(greeting.substr(greeting.find('{')));
    faktory::PasswordHash hash(secret, {.iterations = asked.at("i"), .salt = asked.at("s")});
    while (!hash.work(faktory::kIterationsMin)) continue;
    tell(*faktory, R"(HELLO {"v":2,"wid":"w","pid":1,"hostname":"h","labels":[],"pwdhash":")" +
                       hash.text() + "\"}\r\n");
    while (faktory->wants_resume()) faktory->resume(now);
    CHECK(answer + faktory->take_output() == "+OK\r\n");
  }

  /// Lets everything that is due now happen.
  void settle() {
    const Counting counting;
    while (broker.tick(now) <= now) end_turn();
    end_turn();
  }

  Time now = Time{} + 1h;
  std::string body = std::string(128, 'x');
  std::string put_command = "put 0 0 60 128\r\n" + body + "\r\n";
  std::string put_delayed_command = "put 0 1 60 128\r\n" + body + "\r\n";
  std::uint64_t pushed = 0;
  std::uint64_t ended = 0;
  std::string bid;
  Lsn log_end = 0;
  std::string answer;
  std::string* log = nullptr;  ///< where the batches go, if anywhere
  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker;
  beanstalk::Service beanstalk_service{broker, format, {}, now};
  faktory::Service faktory_service{broker, format, {.random = [] { return 7; }}, now};
  std::unique_ptr<Session> beanstalk = beanstalk_service.open(access::Caller::everybody());
  std::unique_ptr<Session> faktory = faktory_service.open();
  std::unique_ptr<ReadAhead> ahead;  ///< null: the client's lines are read by the session
};

}  // namespace millrace
