#include "support/users.hpp"

#include <string>
#include <utility>
#include <vector>

#include "faktory/session/session.hpp"
#include "faktory/session/talking.hpp"

namespace millrace::faktory {
namespace {

using access::Right;
using test::user_of_all;
using test::user_of_mail;
using test::users_of;

InMemoryServer::Options with_users(access::SharedUsers users) {
  InMemoryServer::Options options;
  options.faktory.users = std::move(users);
  return options;
}

/// Logs in; what comes of it.
std::string log_in(InMemoryServer& server, const std::string& name, const std::string& secret,
                   const std::string& wid = "") {
  server.connect(name, Protocol::kFaktory);
  const std::string hi = server.take_output(name);
  Challenge challenge;
  challenge.iterations = static_cast<std::uint32_t>(std::stoul(hi.substr(hi.find("\"i\":") + 4)));
  const std::size_t salt = hi.find("\"s\":\"") + 5;
  challenge.salt = hi.substr(salt, hi.find('"', salt) - salt);
  return server.ask(name, R"(HELLO {"v":2,"wid":")" + wid + R"(","pwdhash":")" +
                              password_hash(secret, challenge) + "\"}\r\n");
}

void be(InMemoryServer& server, const std::string& user, const std::string& wid = "") {
  REQUIRE(log_in(server, user, "the secret of " + user, wid) == "+OK\r\n");
}

std::string push(const std::string& jid, const std::string& queue) {
  return "PUSH " + job(jid, R"(,"queue":")" + queue + '"') + "\r\n";
}

bool is_refused(const std::string& reply) {
  return reply.starts_with("-ERR NOPERM ");
}

/// Everybody has one right, for the queues mail*; `admin` has all, for all.
struct Everybody {
  access::SharedUsers users = users_of(
      {user_of_mail("push", {Right::kPush}), user_of_mail("work", {Right::kWork}),
       user_of_mail("view", {Right::kView}), user_of_mail("operate", {Right::kOperate}),
       user_of_mail("admin-of-mail", {Right::kAdmin}), user_of_all("view-all", {Right::kView}),
       user_of_all("operate-all", {Right::kOperate}),
       user_of_all("admin",
                   {Right::kPush, Right::kWork, Right::kView, Right::kOperate, Right::kAdmin})});
  InMemoryServer server{with_users(users)};

  Everybody() {
    for (const access::User& user : users->all()) be(server, user.name, "wid-" + user.name);
  }

  /// Who may say this line.
  std::vector<std::string> allowed(const std::string& line) {
    std::vector<std::string> names;
    for (const access::User& user : users->all()) {
      const std::string reply = server.ask(user.name, line + "\r\n");
      // A FETCH may wait.
      if (reply.empty()) server.advance(kFetchWait);
      if (!is_refused(reply + server.take_output(user.name))) names.push_back(user.name);
    }
    return names;
  }
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("users: each logs in with a secret of its own") {
  InMemoryServer server(with_users(
      users_of({user_of_mail("ana", {Right::kPush}), user_of_mail("bob", {Right::kPush})})));
  be(server, "ana");
  be(server, "bob");
  CHECK(log_in(server, "x", "the secret of nobody") == "-ERR Invalid password\r\n");
  CHECK_FALSE(server.is_open("x"));
  CHECK(log_in(server, "y", "") == "-ERR Invalid password\r\n");
}

TEST_CASE("users: a hundred secrets take as many rounds as one password") {
  std::vector<access::User> many;
  for (int i = 0; i < 100; ++i) {
    many.push_back(user_of_mail("user" + std::to_string(i), {Right::kPush}));
  }
  InMemoryServer server(with_users(users_of(std::move(many))));
  be(server, "user0");
  be(server, "user99");
  server.connect("hi", Protocol::kFaktory);
  CHECK(contains(server.take_output("hi"), "\"i\":40,"));
}

TEST_CASE("users: nobody gets in where no user has a secret") {
  access::User ana = user_of_mail("ana", {Right::kPush});
  ana.secrets.clear();
  InMemoryServer server(with_users(users_of({ana})));
  CHECK(log_in(server, "x", "") == "-ERR Invalid password\r\n");
}

TEST_CASE("users: a job is pushed only to queues of the user") {
  InMemoryServer server(with_users(users_of({user_of_mail("ana", {Right::kPush})})));
  be(server, "ana");
  CHECK(server.ask("ana", push("job-00001", "mail-out")) == "+OK\r\n");
  CHECK(server.ask("ana", push("job-00002", "billing")) ==
        "-ERR NOPERM ana may not push to billing\r\n");
  // The queue `default` is meant.
  CHECK(is_refused(server.ask("ana", "PUSH " + job("job-00003") + "\r\n")));
  const std::string many =
      server.ask("ana", "PUSHB [" + job("job-00004", R"(,"queue":"mail")") + "," +
                            job("job-00005", R"(,"queue":"billing")") + "]\r\n");
  CHECK(payload(many) == R"({"job-00005":"NOPERM ana may not push to billing"})");
  CHECK(server.broker().view().queues().find("billing") == nullptr);
}

TEST_CASE("users: a long job, too") {
  InMemoryServer::Options options = with_users(users_of({user_of_mail("ana", {Right::kPush})}));
  options.faktory.in_place_bytes_max = 10;
  InMemoryServer server(std::move(options));
  be(server, "ana");
  CHECK(server.ask("ana", push("job-00001", "mail-out")) == "+OK\r\n");
  CHECK(is_refused(server.ask("ana", push("job-00002", "billing"))));
}

TEST_CASE("users: FETCH asks the queues of the user alone") {
  InMemoryServer server(with_users(
      users_of({user_of_mail("ana", {Right::kWork}), user_of_all("bob", {Right::kPush})})));
  be(server, "bob");
  be(server, "ana", "w");
  for (const char* queue : {"billing", "mail"}) {
    CHECK(server.ask("bob", push(std::string("job-of-") + queue, queue)) == "+OK\r\n");
  }
  CHECK(contains(server.ask("ana", "FETCH billing mail\r\n"), "job-of-mail"));
  CHECK(server.ask("ana", "FETCH billing\r\n") ==
        "-ERR NOPERM ana needs the right work for any of these queues\r\n");
  // The line is remembered with the queues that were left.
  std::string line = "FETCH";
  for (int i = 0; i < 12; ++i) line += " billing" + std::to_string(i);
  line += " mail billing mail1 mail2 mail3 mail4 mail5 mail6 mail7 mail8 mail9";
  for (int i = 0; i < 2; ++i) {
    server.send("ana", line + "\r\n");
    server.advance(kFetchWait);
    CHECK(server.take_output("ana") == "$-1\r\n");
  }
  CHECK(server.ask("ana", R"(ACK {"jid":"job-of-mail"})"
                          "\r\n") == "+OK\r\n");
}

TEST_CASE_FIXTURE(Everybody, "users: who may say what, for each verb") {
  const Names work = {"work", "admin"};
  const std::vector<std::pair<std::string, Names>> table = {
      {push("job-of-mail", "mail").substr(0, push("job-of-mail", "mail").size() - 2),
       {"push", "admin"}},
      {"PUSHB []", {"push", "admin"}},
      {"FETCH mail", work},
      {R"(ACK {"jid":"nothing-like-it"})", work},
      {R"(FAIL {"jid":"nothing-like-it"})", work},
      {R"(BEAT {"wid":"wid-work"})", {"work"}},
      {"INFO", {"view-all", "admin"}},
      {"QUEUE PAUSE mail", {"operate", "operate-all", "admin"}},
      {"QUEUE RESUME *", {"operate-all", "admin"}},
      {"QUEUE PAUSE mail billing", {"operate-all", "admin"}},
      {"QUEUE REMOVE mailing", {"operate", "operate-all", "admin"}},
      {"QUEUE REMOVE *", {"operate-all", "admin"}},
      {"QUEUE LATENCY mail", {"view", "view-all", "admin"}},
      {"QUEUE LATENCY mail billing", {"view-all", "admin"}},
      {R"(MUTATE {"cmd":"kill","target":"retries","filter":{"jids":["x"]}})",
       {"operate-all", "admin"}},
      {"TRACK GET nothing-like-it", {"view-all", "admin"}},
      {R"(TRACK SET {"jid":"nothing-like-it"})", {"admin"}},
      {R"(BATCH NEW {"success":{"jobtype":"T","args":[],"queue":"mail"}})", {"push", "admin"}},
      {R"(BATCH NEW {"success":{"jobtype":"T","args":[],"queue":"billing"}})", {"admin"}},
      {"BATCH STATUS b-nothing", {"push", "admin"}},
      {"FLUSH", {"admin"}},
      {"END",
       {"push", "work", "view", "operate", "admin-of-mail", "view-all", "operate-all", "admin"}},
  };
  std::vector<std::string> seen;
  for (const auto& row : table) {
    const std::string& line = row.first;
    CAPTURE(line);
    CHECK(allowed(line) == row.second);
    seen.push_back(line.substr(0, line.find(' ')));
  }
  for (const std::string_view verb : verbs()) {
    CAPTURE(verb);
    CHECK(std::ranges::find(seen, verb) != seen.end());
  }
}

TEST_CASE_FIXTURE(Everybody, "users: of a job that is there, its queue counts") {
  CHECK(server.ask("admin", push("job-of-billing", "billing")) == "+OK\r\n");
  CHECK(contains(server.ask("admin", "FETCH billing\r\n"), "job-of-billing"));
  for (const std::string line :
       {R"(ACK {"jid":"job-of-billing"})", R"(FAIL {"jid":"job-of-billing"})"}) {
    CAPTURE(line);
    CHECK(is_refused(server.ask("work", line + "\r\n")));
  }
  CHECK(server.ask("admin", R"(ACK {"jid":"job-of-billing"})"
                            "\r\n") == "+OK\r\n");
}

TEST_CASE_FIXTURE(Everybody, "users: of a batch, the queues of its callbacks count") {
  const std::string bid = payload(
      server.ask("admin", R"(BATCH NEW {"success":{"jobtype":"T","args":[],"queue":"billing"}})"
                          "\r\n"));
  for (const std::string verb : {"OPEN", "STATUS", "COMMIT"}) {
    CAPTURE(verb);
    CHECK(is_refused(server.ask("push", "BATCH " + verb + " " + bid + "\r\n")));
    CHECK_FALSE(is_refused(server.ask("admin", "BATCH " + verb + " " + bid + "\r\n")));
  }
}

TEST_CASE_FIXTURE(Everybody, "users: of a tracked job, its queue counts, whoever has a namesake") {
  const std::string tracked = R"(,"queue":"billing","custom":{"track":1})";
  CHECK(server.ask("admin", "PUSH " + job("job-tracked", tracked) + "\r\n") == "+OK\r\n");
  CHECK(server.ask("push", push("job-tracked", "mail")) == "+OK\r\n");
  CHECK(contains(server.ask("work", "FETCH mail\r\n"), "job-tracked"));
  for (const std::string line :
       {R"(TRACK SET {"jid":"job-tracked","desc":"mine"})", R"(TRACK GET job-tracked)"}) {
    CAPTURE(line);
    CHECK(is_refused(server.ask("work", line + "\r\n")));
    CHECK(is_refused(server.ask("push", line + "\r\n")));
    CHECK_FALSE(is_refused(server.ask("admin", line + "\r\n")));
  }
  CHECK(server.ask("work", R"(ACK {"jid":"job-tracked"})"
                           "\r\n") == "+OK\r\n");
}

TEST_CASE_FIXTURE(Everybody, "users: what each tried in vain is noted with its name") {
  for (const std::string who : {"push", "work"}) {
    CHECK(server.ask(who, "FLUSH\r\n") ==
          "-ERR NOPERM " + who + " needs the right admin for all queues\r\n");
    CHECK(server.ask(who, "QUEUE PAUSE billing\r\n") ==
          "-ERR NOPERM " + who + " needs the right operate for billing\r\n");
  }
  CHECK(is_refused(server.ask("push", push("job-00001", "billing"))));
  CHECK(
      contains(server.ask("push", "PUSHB [" + job("job-00002", R"(,"queue":"billing")") + "]\r\n"),
               "NOPERM"));
  std::vector<std::string> noted;
  const AuditLog& log = server.broker().view().audit_log();
  log.each_before(log.end(), [&](auto, const Change& change) {
    if (change.is_refused()) noted.push_back(change.user + " " + change.action);
    return true;
  });
  CHECK(noted == std::vector<std::string>{"push pushb", "push push", "work queues/pause",
                                          "work flush", "push queues/pause", "push flush"});
}

TEST_CASE_FIXTURE(Everybody, "users: nobody speaks for the worker of another user") {
  CHECK(log_in(server, "x", "the secret of push", "wid-work") ==
        "-ERR NOPERM a worker of another user has this wid\r\n");
  CHECK_FALSE(server.is_open("x"));
  CHECK(log_in(server, "y", "the secret of work", "wid-work") == "+OK\r\n");
  const std::string beat = R"(BEAT {"wid":"wid-work","current_state":"terminate"})";
  CHECK(is_refused(server.ask("admin", beat + "\r\n")));
  CHECK(contains(server.ask("y", beat + "\r\n"), "terminate"));
}

TEST_CASE_FIXTURE(Everybody, "users: a batch of others is no parent") {
  const std::string bid = payload(
      server.ask("admin", R"(BATCH NEW {"success":{"jobtype":"T","args":[],"queue":"billing"}})"
                          "\r\n"));
  const std::string child =
      R"(BATCH NEW {"success":{"jobtype":"T","args":[],"queue":"mail"},"parent_bid":")" + bid +
      "\"}\r\n";
  CHECK(server.ask("push", child) == "-ERR No such batch " + bid + "\r\n");
  CHECK(server.ask("admin", child).starts_with("$"));
}

TEST_CASE("users: a reload ends the connections of those that have changed") {
  const access::User ana = user_of_mail("ana", {Right::kPush});
  const access::User bob = user_of_mail("bob", {Right::kWork});
  const access::User eve = user_of_mail("eve", {Right::kWork});
  InMemoryServer server(with_users(users_of({ana, bob, eve})));
  be(server, "ana");
  be(server, "bob", "w1");
  be(server, "eve", "w2");
  server.send("bob", "FETCH mail\r\n");
  server.send("eve", "FETCH mail\r\n");
  server.set_users(users_of({ana, user_of_mail("bob", {Right::kView})}));
  CHECK(server.is_open("ana"));
  CHECK_FALSE(server.is_open("bob"));
  CHECK_FALSE(server.is_open("eve"));
  CHECK(server.ask("ana", push("job-00001", "mail")) == "+OK\r\n");
  CHECK(server.broker().view().queues().find("mail")->ready.size() == 1);
  // A further secret, which then takes the place of the first.
  access::User changed = ana;
  changed.secrets = {"a further secret of ana", "the secret of ana"};
  server.set_users(users_of({changed}));
  CHECK(server.is_open("ana"));
  changed.secrets.pop_back();
  server.set_users(users_of({changed}));
  CHECK_FALSE(server.is_open("ana"));
}

TEST_CASE("users: what an administrator does is noted with the name") {
  InMemoryServer server(with_users(users_of({user_of_all("ana", {Right::kOperate})})));
  be(server, "ana");
  CHECK(server.ask("ana", "QUEUE PAUSE mail\r\n") == "+OK\r\n");
  std::string user;
  const AuditLog& log = server.broker().view().audit_log();
  log.each_before(log.end(), [&](AuditLog::Number, const Change& change) {
    user = change.user;
    return false;
  });
  CHECK(user == "ana");
}

}  // namespace millrace::faktory
