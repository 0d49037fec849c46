#include "support/users.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "beanstalk/command.hpp"
#include "support/doctest.hpp"
#include "support/in_memory_server.hpp"

namespace millrace::beanstalk {
namespace {

using access::Right;
using test::InMemoryServer;
using test::Protocol;
using test::user_of_all;
using test::user_of_mail;
using test::users_of;
using Names = std::vector<std::string>;

/// Everybody has one right, for the tubes mail*, and uses and watches `mail`.
struct Everybody {
  access::SharedUsers users =
      users_of({user_of_mail("push", {Right::kPush}), user_of_mail("work", {Right::kWork}),
                user_of_mail("view", {Right::kView}), user_of_mail("operate", {Right::kOperate}),
                user_of_all("view-all", {Right::kView}),
                user_of_all("all", {Right::kPush, Right::kWork, Right::kView, Right::kOperate})});
  InMemoryServer server{options()};

  InMemoryServer::Options options() {
    InMemoryServer::Options options;
    options.beanstalk.users = users;
    options.beanstalk.job_bytes_max = 2 * kLongPutBytes;
    return options;
  }

  Everybody() {
    for (const access::User& user : users->all()) {
      server.connect(user.name, Protocol::kBeanstalk, test::caller_of(users, user.name));
      CHECK(server.ask(user.name, "use mail\r\n") == "USING mail\r\n");
      (void)server.ask(user.name, "watch mail\r\n");
    }
  }

  /// Puts into mail; the id.
  std::string put(const std::string& delay = "0") {
    const std::string reply = server.ask("all", "put 0 " + delay + " 60 1\r\nx\r\n");
    return reply.substr(9, reply.size() - 11);
  }

  /// Who may say this, with a job that is made anew for each. `kind`: ready, delayed, buried or
  /// held.
  Names allowed(const std::string& line, const std::string& refusal,
                const std::string& kind = "ready") {
    Names names;
    for (const access::User& user : users->all()) {
      const std::string id = put(kind == "delayed" ? "100" : "0");
      if (kind == "buried") {
        CHECK(server.ask("all", "reserve-job " + id + "\r\n").starts_with("RESERVED"));
        CHECK(server.ask("all", "bury " + id + " 0\r\n") == "BURIED\r\n");
      }
      if (kind == "held") {
        const std::string reply = server.ask(user.name, "reserve-job " + id + "\r\n");
        if (!reply.starts_with("RESERVED")) {
          CHECK(reply == "NOT_FOUND\r\n");
          CHECK(server.ask("all", "delete " + id + "\r\n") == "DELETED\r\n");
          continue;
        }
      }
      std::string said = line;
      if (const std::size_t at = said.find("ID"); at != said.npos) said.replace(at, 2, id);
      const std::string reply = server.ask(user.name, said + "\r\n");
      REQUIRE_FALSE(reply.empty());
      if (reply != refusal) names.push_back(user.name);
      (void)server.ask("all", "delete " + id + "\r\n");
      (void)server.ask(user.name, "delete " + id + "\r\n");
    }
    return names;
  }
};

constexpr const char* kUnknown = "UNKNOWN_COMMAND\r\n";
constexpr const char* kNone = "NOT_FOUND\r\n";

}  // namespace

TEST_CASE_FIXTURE(Everybody, "users: who may say what, for each command") {
  struct Row {
    std::string line;
    std::string refusal;
    Names names;
    std::string job = "ready";
  };
  const Names work = {"work", "all"};
  const Names everybody = {"push", "work", "view", "operate", "view-all", "all"};
  const std::vector<Row> table = {
      {"put 0 0 60 1\r\nx", kUnknown, {"push", "all"}},
      {"peek ID", kNone, {"view", "view-all", "all"}},
      {"peek-ready", kUnknown, {"view", "view-all", "all"}},
      {"peek-delayed", kUnknown, {"view", "view-all", "all"}, "delayed"},
      {"peek-buried", kUnknown, {"view", "view-all", "all"}, "buried"},
      {"reserve-with-timeout 0", kUnknown, work},
      {"reserve", kUnknown, work},
      {"reserve-job ID", kNone, work},
      {"delete ID", kNone, {"operate", "all"}},
      {"delete ID", kNone, work, "held"},
      {"release ID 0 0", kNone, work, "held"},
      {"bury ID 0", kNone, work, "held"},
      {"touch ID", kNone, work, "held"},
      {"kick 1", kUnknown, {"operate", "all"}, "buried"},
      {"kick-job ID", kNone, {"operate", "all"}, "buried"},
      {"use mail", kUnknown, everybody},
      {"watch mail2", kUnknown, work},
      {"ignore mail2", kUnknown, everybody},
      {"pause-tube mail 0", kUnknown, {"operate", "all"}},
      {"stats", kUnknown, {"view-all", "all"}},
      {"stats-job ID", kNone, {"work", "view", "view-all", "all"}},
      {"stats-tube mail", kUnknown, {"view", "view-all", "all"}},
      {"list-tubes", kUnknown, everybody},
      {"list-tube-used", kUnknown, everybody},
      {"list-tubes-watched", kUnknown, everybody},
  };
  Names seen = {"quit"};
  for (const Row& row : table) {
    CAPTURE(row.line);
    CHECK(allowed(row.line, row.refusal, row.job) == row.names);
    seen.push_back(row.line.substr(0, row.line.find_first_of(" \r")));
  }
  for (std::string_view verb : verbs()) {
    verb = verb.substr(0, verb.find_first_of(" \r"));
    CAPTURE(verb);
    CHECK(std::ranges::find(seen, verb) != seen.end());
  }
}

TEST_CASE_FIXTURE(Everybody, "users: a long job is skipped and refused") {
  const std::string body(kLongPutBytes + 1, 'x');
  const std::string put = "put 0 0 60 " + std::to_string(body.size()) + "\r\n" + body + "\r\n";
  CHECK(server.ask("view", put + "list-tube-used\r\n") == "UNKNOWN_COMMAND\r\nUSING mail\r\n");
  CHECK(server.ask("push", put).starts_with("INSERTED"));
}

TEST_CASE_FIXTURE(Everybody, "users: tubes of others are neither listed nor reached") {
  CHECK(server.ask("all", "use billing\r\n") == "USING billing\r\n");
  const std::string id = put();
  CHECK(server.ask("all", "use mail\r\n") == "USING mail\r\n");
  const std::string tubes = server.ask("work", "list-tubes\r\n");
  CHECK(tubes.find("- mail\n") != tubes.npos);
  CHECK(tubes.find("billing") == tubes.npos);
  CHECK(server.ask("work", "watch billing\r\n") == kUnknown);
  CHECK(server.ask("work", "reserve-job " + id + "\r\n") == kNone);
  CHECK(server.ask("view", "peek " + id + "\r\n") == kNone);
  CHECK(server.ask("operate", "delete " + id + "\r\n") == kNone);
  CHECK(server.ask("push", "use billing\r\n") == "USING billing\r\n");
  CHECK(server.ask("push", "put 0 0 60 1\r\nx\r\n") == kUnknown);
}

TEST_CASE_FIXTURE(Everybody, "users: the default tube is watched only by those who may") {
  CHECK(server.ask("work", "list-tubes-watched\r\n") == "OK 11\r\n---\n- mail\n\r\n");
  CHECK(server.ask("all", "list-tubes-watched\r\n") == "OK 21\r\n---\n- default\n- mail\n\r\n");
  // As clients do that want one tube.
  CHECK(server.ask("work", "ignore default\r\n") == "WATCHING 1\r\n");
}

TEST_CASE_FIXTURE(Everybody, "users: a reload ends the connections of those that have changed") {
  server.send("work", "reserve\r\n");
  server.set_users(
      users_of({user_of_mail("push", {Right::kPush}), user_of_mail("work", {Right::kPush})}));
  CHECK(server.is_open("push"));
  CHECK_FALSE(server.is_open("work"));
  CHECK_FALSE(server.is_open("all"));
  CHECK(server.ask("push", "put 0 0 60 1\r\nx\r\n").starts_with("INSERTED"));
}

TEST_CASE_FIXTURE(Everybody, "users: what is refused is in the audit log, by its user") {
  const std::string id = put();
  const std::string long_put = "put 0 0 60 " + std::to_string(kLongPutBytes + 1) + "\r\n" +
                               std::string(kLongPutBytes + 1, 'x') + "\r\n";
  CHECK(server.ask("work", "delete " + id + "\r\ndelete 999\r\n") == std::string(kNone) + kNone);
  CHECK(server.ask("work", "pause-tube mail2 1\r\nstats\r\n") == std::string(kUnknown) + kUnknown);
  CHECK(server.ask("view", long_put + "reserve\r\n") == std::string(kUnknown) + kUnknown);
  std::string noted;
  const AuditLog& log = server.broker().view().audit_log();
  log.each_before(log.end(), [&](auto, const Change& change) {
    CHECK(change.is_refused());
    CHECK(change.protocol == "beanstalk");
    noted += change.user + " " + change.action + " " + change.target + "\n";
    return true;
  });
  // Before these, the fixture has some watch what they may not work on.
  CHECK(noted.starts_with(
      "view reserve \nview put mail\nwork stats \nwork pause-tube mail2\nwork delete " + id +
      "\n"));
}

}  // namespace millrace::beanstalk
