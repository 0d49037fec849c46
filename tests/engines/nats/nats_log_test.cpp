#include <nats/nats.h>

#include <chrono>
#include <memory>
#include <string>

#include "engines/contract.hpp"
#include "engines/nats/nats_server.hpp"
#include "engines/open.hpp"
#include "support/doctest.hpp"

namespace millrace::engines {
namespace {

using journal::LogService;
using journal::Sequence;
using std::chrono::milliseconds;
using std::chrono::seconds;
using TestClock = std::chrono::steady_clock;
using NatsLogPointer = std::unique_ptr<LogService>;

/// One server for all cases that do not stop it.
class SharedNatsServer {
 public:
  static SharedNatsServer& get() {
    static SharedNatsServer shared;
    return shared;
  }
  [[nodiscard]] std::string new_url() {
    return "nats://" + server_.address() + "/log" + std::to_string(++logs_);
  }
  [[nodiscard]] const std::string address() const { return server_.address(); }

 private:
  SharedNatsServer() { server_.start(); }

  NatsDirectory directory_;
  NatsServer server_{directory_.path(), {}};
  int logs_ = 0;
};

Options unsynced() {
  Options options;
  options.allows_unsynced = true;
  return options;
}

/// Waits until the server is there.
NatsLogPointer open_log(const std::string& url) {
  const auto end = TestClock::now() + seconds(20);
  for (;;) {
    auto log = open_nats_log(url, unsynced());
    if (log) return std::move(*log);
    REQUIRE_MESSAGE(TestClock::now() < end, log.error().text);
  }
}

/// A client of NATS that knows nothing of logs.
class PlainClient {
 public:
  explicit PlainClient(const std::string& address) {
    REQUIRE(natsConnection_ConnectTo(&connection_, ("nats://" + address).c_str()) == NATS_OK);
    REQUIRE(natsConnection_JetStream(&context_, connection_, nullptr) == NATS_OK);
  }
  ~PlainClient() {
    jsCtx_Destroy(context_);
    natsConnection_Destroy(connection_);
  }
  PlainClient(const PlainClient&) = delete;
  PlainClient& operator=(const PlainClient&) = delete;

  void make_stream(const char* name, const char* subject, const char* description,
                   std::int64_t bytes_max = -1) {
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    config.Name = name;
    config.Description = description;
    config.Subjects = &subject;
    config.SubjectsLen = 1;
    config.Discard = js_DiscardNew;
    config.MaxBytes = bytes_max;
    REQUIRE(js_AddStream(nullptr, context_, &config, nullptr, nullptr) == NATS_OK);
  }

  void delete_stream(const std::string& name) {
    REQUIRE(js_DeleteStream(context_, name.c_str(), nullptr, nullptr) == NATS_OK);
  }

  void publish(const std::string& subject, const char* entry_header, const std::string& bytes) {
    natsMsg* message = nullptr;
    REQUIRE(natsMsg_Create(&message, subject.c_str(), nullptr, bytes.data(),
                           static_cast<int>(bytes.size())) == NATS_OK);
    if (entry_header != nullptr) natsMsgHeader_Set(message, "Millrace-Entry", entry_header);
    CHECK(js_PublishMsg(nullptr, context_, message, nullptr, nullptr) == NATS_OK);
    natsMsg_Destroy(message);
  }

 private:
  natsConnection* connection_ = nullptr;
  jsCtx* context_ = nullptr;
};

std::vector<LogService::Answer> nats_answers(LogService& log, std::size_t count) {
  std::vector<LogService::Answer> all;
  const auto end = TestClock::now() + seconds(20);
  while (all.size() < count && TestClock::now() < end) {
    for (auto& answer : log.answers(seconds(1))) all.push_back(std::move(answer));
  }
  REQUIRE(all.size() == count);
  return all;
}

/// What is stored after that message, up to `last`: the chunks of as many calls as that takes.
LogService::Chunk nats_chunk(LogService& log, Sequence after, Sequence last) {
  LogService::Chunk all{.seen = after};
  const auto end = TestClock::now() + seconds(20);
  while (all.seen < last && TestClock::now() < end) {
    auto chunk = log.follow(all.seen, 1 << 20, seconds(1));
    REQUIRE_MESSAGE(chunk.has_value(), (chunk ? "" : chunk.error().text));
    for (auto& entry : chunk->entries) all.entries.push_back(std::move(entry));
    all.seen = chunk->seen;
    all.is_trimmed = all.is_trimmed || chunk->is_trimmed;
  }
  REQUIRE(all.seen >= last);
  return all;
}

/// What opening says, which is one line without the password.
std::string refusal_of(const std::string& url, const Options& options) {
  const auto log = open_nats_log(url, options);
  REQUIRE_FALSE(log.has_value());
  CHECK(log.error().text.find('\n') == std::string::npos);
  CHECK(log.error().text.find("s3cret") == std::string::npos);
  return log.error().text;
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("NATS log: keeps the contract") {
  for (const ContractCase& each : contract_cases()) {
    SUBCASE(each.name) {
      const std::string url = SharedNatsServer::get().new_url();
      each.check([&url] { return open_log(url); });
    }
  }
}

TEST_CASE("NATS log: an entry that was begun and never finished does not exist") {
  const std::string url = SharedNatsServer::get().new_url();
  const auto log = open_log(url);
  PlainClient other(SharedNatsServer::get().address());
  const std::string subject = "millrace." + url.substr(url.rfind('/') + 1);
  other.publish(subject, "other 0 1/3", "one");
  other.publish(subject, "other 0 2/3", "two");
  CHECK(log->extent()->last == 2);
  const LogService::Chunk unfinished = nats_chunk(*log, 0, 2);
  CHECK(unfinished.entries.empty());
  CHECK(unfinished.seen == 2);

  CHECK(log->append(2, "mine") == 3);
  CHECK_FALSE(nats_answers(*log, 1)[0].refusal);
  const LogService::Chunk chunk = nats_chunk(*log, 0, 3);
  REQUIRE(chunk.entries.size() == 1);
  CHECK(chunk.entries[0].first == 3);
  CHECK(chunk.entries[0].bytes == "mine");
  CHECK(nats_chunk(*open_log(url), 1, 3).entries.size() == 1);
}

TEST_CASE("NATS log: an entry that is finished later is whole") {
  const std::string url = SharedNatsServer::get().new_url();
  const auto log = open_log(url);
  PlainClient other(SharedNatsServer::get().address());
  const std::string subject = "millrace." + url.substr(url.rfind('/') + 1);
  other.publish(subject, "other 0 1/2", "one");
  CHECK(nats_chunk(*log, 0, 1).entries.empty());
  other.publish(subject, "other 0 2/2", "two");
  const LogService::Chunk chunk = nats_chunk(*log, 1, 2);
  REQUIRE(chunk.entries.size() == 1);
  CHECK(chunk.entries[0].first == 1);
  CHECK(chunk.entries[0].bytes == "onetwo");
  // A reader that has seen nothing of it looks back.
  const LogService::Chunk again = nats_chunk(*open_log(url), 1, 2);
  REQUIRE(again.entries.size() == 1);
  CHECK(again.entries[0].bytes == "onetwo");
}

TEST_CASE("NATS log: what follows a refused append does not exist, though NATS stored it") {
  const std::string url = SharedNatsServer::get().new_url();
  const auto log = open_log(url);
  PlainClient other(SharedNatsServer::get().address());
  const std::string subject = "millrace." + url.substr(url.rfind('/') + 1);
  CHECK(log->append(0, "claim") == 1);
  CHECK_FALSE(nats_answers(*log, 1)[0].refusal);
  // Its first one was refused, since the claim has its place.
  other.publish(subject, "old 0 1/1", "second of the old leader");
  other.publish(subject, "old 0 1/1", "third of the old leader");
  other.publish(subject, nullptr, "of somebody else");
  CHECK(log->extent()->last == 4);
  CHECK(log->append(4, "mine") == 5);
  CHECK_FALSE(nats_answers(*log, 1)[0].refusal);
  for (const Sequence after : {Sequence{1}, Sequence{2}, Sequence{3}, Sequence{4}}) {
    const LogService::Chunk chunk = nats_chunk(*open_log(url), after, 5);
    REQUIRE(chunk.entries.size() == 1);
    CHECK(chunk.entries[0].bytes == "mine");
  }
}

TEST_CASE("NATS log: a stream of something else is refused") {
  PlainClient other(SharedNatsServer::get().address());
  other.make_stream("orders", "orders.*", "orders of the shop");
  other.make_stream("similar", "millrace.similar", nullptr);
  const std::string begin = "nats://" + SharedNatsServer::get().address();
  for (const char* name : {"/orders", "/similar"}) {
    CHECK(contains(refusal_of(begin + name, unsynced()), "is not a log of Millrace"));
  }
}

TEST_CASE("NATS log: without a word of the operator, an unsynced log is refused") {
  const std::string url = SharedNatsServer::get().new_url();
  CHECK(contains(refusal_of(url + "?synced=yes", {}), "would be on one server, and lost with it"));
  CHECK(contains(refusal_of(url, {}), "acknowledge"));
  CHECK(contains(refusal_of(url + "?replicas=1", {}), "acknowledge"));
  // None of them has left a stream that would be in the way.
  CHECK(open_nats_log(url + "?replicas=1", unsynced()).has_value());
  CHECK(open_nats_log(url, unsynced()).has_value());
}

TEST_CASE("NATS log: a server alone is refused when more replicas are asked for") {
  const std::string url = SharedNatsServer::get().new_url();
  CHECK(contains(refusal_of(url + "?replicas=3", unsynced()), "replicas > 1 not supported"));
  CHECK(open_nats_log(url, unsynced()).has_value());
  CHECK(contains(refusal_of(url + "?replicas=3", unsynced()), "has 1 replica, not 3"));
}

TEST_CASE("NATS log: a full stream refuses, says why, and keeps what it has") {
  PlainClient other(SharedNatsServer::get().address());
  other.make_stream("small", "millrace.small", "millrace log", 20'000);
  const auto log = open_log("nats://" + SharedNatsServer::get().address() + "/small");
  CHECK(log->append(0, std::string(10'000, 'x')) == 1);
  CHECK_FALSE(nats_answers(*log, 1)[0].refusal);
  (void)log->append(1, std::string(30'000, 'x'));
  const LogService::Answer answer = nats_answers(*log, 1)[0];
  CHECK(answer.refusal == LogService::Refusal::kUnknown);
  CHECK(contains(answer.problem, "maximum bytes exceeded"));
  CHECK(log->extent()->last == 1);
  CHECK(log->append(1, "short") == 2);
  CHECK_FALSE(nats_answers(*log, 1)[0].refusal);
}

/// As while a stream elects its leader.
TEST_CASE("NATS log: an append that reaches no leader is unknown, and no conflict") {
  const std::string url = SharedNatsServer::get().new_url();
  const auto log = open_log(url);
  PlainClient(SharedNatsServer::get().address()).delete_stream(url.substr(url.rfind('/') + 1));
  (void)log->append(0, "one");
  const LogService::Answer answer = nats_answers(*log, 1)[0];
  CHECK(answer.refusal == LogService::Refusal::kUnknown);
  CHECK(contains(answer.problem, "nobody answers for JetStream"));
}

TEST_CASE("NATS log: messages are no longer than the server takes") {
  const NatsDirectory directory;
  NatsServer server(directory.path(), {.config = "max_payload: 5000"});
  server.start();
  const auto log = open_log("nats://" + server.address() + "/jobs");
  CHECK(log->message_count(4000) == 1);
  const Sequence last = log->append(0, std::string(100'000, 'x'));
  CHECK(last == log->message_count(100'000));
  CHECK(last > 20);
  CHECK_FALSE(nats_answers(*log, 1)[0].refusal);
  CHECK(nats_chunk(*log, 0, last).entries[0].bytes.size() == 100'000);
}

/// The library connects again by itself.
TEST_CASE("NATS log: an entry that was numbered for another server is stored as it was, or never") {
  const NatsDirectory directory;
  const int port = free_nats_port();
  const auto server_with = [&](const char* payload_max) {
    NatsServer::Options options{.port = port, .config = std::string("max_payload: ") + payload_max};
    auto server = std::make_unique<NatsServer>(directory.path(), std::move(options));
    server->start();
    return server;
  };
  auto server = server_with("5000");
  const auto log = open_log("nats://" + server->address() + "/jobs");
  const auto count_becomes = [&](Sequence count) {
    const auto end = TestClock::now() + seconds(20);
    while (log->message_count(100'000) != count && TestClock::now() < end) {
      (void)log->answers(milliseconds(10));
    }
    return log->message_count(100'000) == count;
  };
  const std::string bytes(100'000, 'x');
  const Sequence last = log->message_count(bytes.size());
  REQUIRE(last == 23);
  server.reset();
  server = server_with("200000");
  REQUIRE(count_becomes(1));
  log->append({.first = 1, .last = last, .bytes = bytes});
  log->append({.first = last + 1, .last = last + 1, .bytes = bytes});
  for (const auto& answer : nats_answers(*log, 2)) REQUIRE_FALSE(answer.refusal);
  const LogService::Chunk chunk = nats_chunk(*log, 0, last + 1);
  REQUIRE(chunk.entries.size() == 2);
  CHECK((chunk.entries[0].bytes == bytes));
  CHECK(chunk.entries[0].last == last);
  CHECK((chunk.entries[1].bytes == bytes));

  server.reset();
  server = server_with("5000");
  REQUIRE(count_becomes(last));
  log->append({.first = last + 2, .last = last + 2, .bytes = bytes});
  CHECK(nats_answers(*log, 1)[0].refusal == LogService::Refusal::kTooLong);
  CHECK(log->extent()->last == last + 1);
  const Sequence end = log->append(last + 1, bytes);
  CHECK(end == 2 * last + 1);
  CHECK_FALSE(nats_answers(*log, 1)[0].refusal);
}

TEST_CASE("NATS log: a wrong password is one line without it") {
  const NatsDirectory directory;
  NatsServer server(directory.path(),
                    {.config = "authorization {user: ann, password: \"p@ss/word\"}"});
  server.start();
  Options options = unsynced();
  (void)open_log("nats://ann:p%40ss/word@" + server.address() + "/jobs");
  options.password = "p@ss/word";
  CHECK(open_nats_log("nats://ann@" + server.address() + "/jobs", options).has_value());
  CHECK(contains(refusal_of("nats://ann:s3cret@" + server.address() + "/jobs", unsynced()),
                 "refuses the user, password"));
  CHECK(contains(refusal_of("nats://s3cret@" + server.address() + "/jobs", unsynced()),
                 "refuses the user, password"));
  options.password = "s3cret";
  CHECK(contains(refusal_of("nats://ann@" + server.address() + "/jobs", options),
                 "refuses the user, password"));
}

TEST_CASE("NATS log: a server that cannot be reached is one line") {
  const std::string address = "127.0.0.1:" + std::to_string(free_nats_port());
  CHECK(contains(refusal_of("nats://ann:s3cret@" + address + "/jobs", unsynced()),
                 "no NATS server can be reached"));
  Options options = unsynced();
  options.credentials_file = "/nowhere/s3cret.creds";
  (void)refusal_of("nats://" + address + "/jobs", options);
}

TEST_CASE("NATS log: goes on by itself when its server stops and comes back") {
  const NatsDirectory directory;
  NatsServer server(directory.path(), {});
  server.start();
  const auto log = open_log("nats://" + server.address() + "/jobs");
  CHECK(log->append(0, "one") == 1);
  CHECK_FALSE(nats_answers(*log, 1)[0].refusal);
  server.kill();
  (void)log->append(1, "two");
  (void)log->append(2, "three");
  const auto begin = TestClock::now();
  for (const auto& answer : nats_answers(*log, 2)) {
    CHECK(answer.refusal == LogService::Refusal::kUnknown);
  }
  CHECK(TestClock::now() - begin < journal::kAnswerMax + seconds(1));
  CHECK_FALSE(log->extent().has_value());
  CHECK_FALSE(log->follow(1, 1000, milliseconds(10)).has_value());
  CHECK_FALSE(log->trim(1).has_value());

  server.start();
  auto extent = log->extent();
  const auto end = TestClock::now() + seconds(20);
  while (!extent && TestClock::now() < end) extent = log->extent();
  REQUIRE(extent.has_value());
  const Sequence last = extent->last;
  CHECK(log->append(last, "four") == last + 1);
  CHECK_FALSE(nats_answers(*log, 1)[0].refusal);
  CHECK(nats_chunk(*log, last, last + 1).entries[0].bytes == "four");
}

TEST_CASE("NATS log: comes back after a server that refused its password for a while") {
  const NatsDirectory directory;
  const int port = free_nats_port();
  const auto config = [&](const char* password) {
    return NatsServer::Options{
        .port = port,
        .config = std::string("authorization {user: ann, password: ") + password + "}"};
  };
  auto server = std::make_unique<NatsServer>(directory.path(), config("right"));
  server->start();
  const auto log = open_log("nats://ann:right@" + server->address() + "/jobs");
  CHECK(log->append(0, "one") == 1);
  CHECK_FALSE(nats_answers(*log, 1)[0].refusal);
  const auto end = TestClock::now() + seconds(20);
  const auto extent_until = [&](const auto& is_as_expected) {
    auto extent = log->extent();
    while (!is_as_expected(extent) && TestClock::now() < end) {
      (void)log->answers(milliseconds(10));
      extent = log->extent();
    }
    REQUIRE(is_as_expected(extent));
  };

  server.reset();
  server = std::make_unique<NatsServer>(directory.path(), config("wrong"));
  server->start();
  extent_until([](const auto& extent) {
    return !extent && contains(extent.error().text, "refuses the user, password");
  });
  server.reset();
  server = std::make_unique<NatsServer>(directory.path(), config("right"));
  server->start();
  extent_until([](const auto& extent) { return extent && extent->last == 1; });
  CHECK(log->append(1, "two") == 2);
  CHECK_FALSE(nats_answers(*log, 1)[0].refusal);
  CHECK(nats_chunk(*log, 0, 2).entries.size() == 2);
}

TEST_CASE("NATS log: a server that does not answer in time leaves the append unknown") {
  const NatsDirectory directory;
  NatsServer server(directory.path(), {});
  server.start();
  const auto log = open_log("nats://" + server.address() + "/jobs");
  server.pause();
  (void)log->append(0, "one");
  const auto begin = TestClock::now();
  CHECK(nats_answers(*log, 1)[0].refusal == LogService::Refusal::kUnknown);
  CHECK(TestClock::now() - begin < journal::kAnswerMax + seconds(1));
  server.resume();
}

}  // namespace millrace::engines
