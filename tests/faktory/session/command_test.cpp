#include "faktory/session/command.hpp"

#include <string>

#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

using Reason = Refused::Reason;
using Names = std::vector<std::string_view>;

template <typename C>
C command(std::string_view line) {
  const auto parsed = parse_command(line);
  REQUIRE(parsed);
  REQUIRE(std::holds_alternative<C>(*parsed));
  return std::get<C>(*parsed);
}

Refused refused(std::string_view line) {
  const auto parsed = parse_command(line);
  REQUIRE_FALSE(parsed);
  return parsed.error();
}

}  // namespace

TEST_CASE("parse: unknown verbs") {
  CHECK(refused("PING").reason == Reason::kUnknownVerb);
  CHECK(refused("PING x").text == "PING");
  CHECK(refused("").text.empty());
  CHECK(refused("push {}").text == "push");
  CHECK(refused(" PUSH {}").text.empty());
  CHECK(refused("HELLO {}").text == "HELLO");
}

TEST_CASE("parse: a verb alone that needs more") {
  CHECK(refused("PUSH").reason == Reason::kNoArgument);
  CHECK(refused("PUSHB").reason == Reason::kNoArgument);
  CHECK(refused("ACK").reason == Reason::kNoArgument);
  CHECK(refused("FAIL").reason == Reason::kNoArgument);
  CHECK(refused("BEAT").reason == Reason::kNoArgument);
  CHECK(refused("QUEUE").reason == Reason::kNoArgument);
  CHECK(refused("QUEUE PAUSE").reason == Reason::kNoArgument);
}

TEST_CASE("parse: PUSH and PUSHB keep their JSON") {
  CHECK(command<Push>("PUSH {\"a\": 1} ").json == "{\"a\": 1} ");
  CHECK(command<PushBulk>("PUSHB []").json == "[]");
}

TEST_CASE("parse: FETCH names queues once, in order") {
  CHECK(command<Fetch>("FETCH a b a c").queues == Names{"a", "b", "c"});
}

TEST_CASE("parse: FETCH without a queue looks at default") {
  CHECK(command<Fetch>("FETCH").queues == Names{"default"});
  CHECK(command<Fetch>("FETCH ").queues == Names{"default"});
}

TEST_CASE("parse: FETCH passes over names that are none") {
  CHECK(command<Fetch>("FETCH a+b  c").queues == Names{"c"});
  CHECK(command<Fetch>("FETCH a+b").queues.empty());
  CHECK(command<Fetch>("FETCH " + std::string(kQueueNameBytesMax + 1, 'q')).queues.empty());
  CHECK(command<Fetch>("FETCH " + std::string(kQueueNameBytesMax, 'q')).queues.size() == 1);
}

TEST_CASE("parse: FETCH with as many queues as allowed and one more") {
  std::string line = "FETCH";
  for (std::size_t i = 0; i < kNamedQueuesMax; ++i) line += " q" + std::to_string(i);
  CHECK(command<Fetch>(line).queues.size() == kNamedQueuesMax);
  CHECK(refused(line + " more").reason == Reason::kTooManyQueues);
}

TEST_CASE("parse: ACK") {
  CHECK(command<Ack>(R"(ACK {"jid":"abc"})").jid == "abc");
  CHECK(command<Ack>(R"(ACK {"jid":null})").jid.empty());
  CHECK(command<Ack>(R"(ACK {"jid":"a","x":"y"})").jid == "a");
}

TEST_CASE("parse: an ACK in its plain form means what it means with one member more") {
  for (const std::string text :
       {"", "abc", " a b ", "a:{},[]'", "\\u0041\\n", "\\\"", "\\\\", "\xc3\xa9", "\x7f", "~"}) {
    CAPTURE(text);
    const std::string read = command<Ack>("ACK {\"jid\":\"" + text + "\",\"x\":\"\"}").jid;
    CHECK(command<Ack>("ACK {\"jid\":\"" + text + "\"}").jid == read);
    CHECK(command<Ack>("ACK {\"jid\": \"" + text + "\"}").jid == read);
    CHECK(command<Ack>("ACK { \"jid\" :\"" + text + "\" }").jid == read);
  }
  for (const std::string text : {"\x01", "\t", "\"", "\"}", "\\", "\\x"}) {
    CAPTURE(text);
    CHECK(refused("ACK {\"jid\":\"" + text + "\"}").reason == Reason::kInvalidAck);
  }
  CHECK(refused(R"(ACK {"jid":"})").reason == Reason::kInvalidAck);
  CHECK(refused(R"(ACK {"jid":"a","jid":1,"x":"})").reason == Reason::kInvalidAck);
}

TEST_CASE("parse: ACK of other shapes") {
  CHECK(refused("ACK 123").reason == Reason::kInvalidAck);
  CHECK(refused("ACK 123").text == "123");
  CHECK(refused("ACK ").reason == Reason::kInvalidAck);
  CHECK(refused("ACK null").reason == Reason::kInvalidAck);
  CHECK(refused("ACK {}").reason == Reason::kInvalidAck);
  CHECK(refused(R"(ACK {"JID":"abc"})").reason == Reason::kInvalidAck);
  CHECK(refused(R"(ACK {"jid":"abc","x":1})").reason == Reason::kInvalidAck);
  CHECK(refused(R"(ACK {"jid":1})").reason == Reason::kInvalidAck);
  CHECK(refused(R"(ACK {"jid":"abc"} x)").reason == Reason::kInvalidAck);
}

TEST_CASE("parse: FAIL") {
  const Fail fail = command<Fail>(
      R"(FAIL {"JID":"abc","errtype":"E","message":"m","backtrace":["x","y"],"z":1})");
  CHECK(fail.jid == "abc");
  CHECK(fail.run.errtype == "E");
  CHECK(fail.run.message == "m");
  CHECK(fail.run.backtrace == std::vector<std::string>{"x", "y"});
}

TEST_CASE("parse: FAIL with nulls and little else") {
  CHECK(command<Fail>(R"(FAIL {"jid":"abc","backtrace":null,"message":null})").jid == "abc");
}

TEST_CASE("parse: FAIL of other shapes") {
  CHECK(refused("FAIL {}").reason == Reason::kMissingJid);
  CHECK(refused("FAIL null").reason == Reason::kMissingJid);
  CHECK(refused(R"(FAIL {"jid":""})").reason == Reason::kMissingJid);
  CHECK(refused("FAIL []").reason == Reason::kInvalidFail);
  CHECK(refused(R"(FAIL {"jid":"a","message":1})").reason == Reason::kInvalidFail);
  CHECK(refused(R"(FAIL {"jid":"a","backtrace":["x",1]})").reason == Reason::kInvalidFail);
}

TEST_CASE("parse: BEAT") {
  const Beat beat = command<Beat>(R"(BEAT {"wid":"w","current_state":"quiet","rss_kb":54321})");
  CHECK(beat.wid == "w");
  CHECK(beat.asked == Worker::State::kQuiet);
  CHECK(beat.rss_kb == 54321);
}

TEST_CASE("parse: BEAT asks for no other state") {
  CHECK(command<Beat>(R"(BEAT {"wid":"w","current_state":"terminate"})").asked ==
        Worker::State::kTerminate);
  CHECK(command<Beat>(R"(BEAT {"wid":"w","current_state":"junk"})").asked ==
        Worker::State::kRunning);
  CHECK(command<Beat>("BEAT null").wid.empty());
}

TEST_CASE("parse: BEAT of wrong types") {
  CHECK(refused(R"(BEAT {"wid":"w","rss_kb":1.5})").reason == Reason::kInvalidBeat);
  CHECK(refused(R"(BEAT {"wid":1})").reason == Reason::kInvalidBeat);
  CHECK(refused("BEAT ").reason == Reason::kInvalidBeat);
}

TEST_CASE("parse: commands without arguments take some") {
  command<Info>("INFO");
  command<Info>("INFO extra");
  command<Flush>("FLUSH x");
  command<End>("END now");
}

TEST_CASE("parse: BATCH in any case") {
  CHECK(command<NewBatch>("BATCH new {}").json == "{}");
  CHECK(command<UseBatch>("BATCH Open b-1 ").bid == "b-1");
  CHECK(command<UseBatch>("BATCH COMMIT b-1").action == UseBatch::Action::kCommit);
  CHECK(command<UseBatch>("BATCH STATUS").action == UseBatch::Action::kStatus);
  CHECK(refused("BATCH").reason == Reason::kUnknownBatchCommand);
  CHECK(refused("BATCH foo x").text == "foo");
}

TEST_CASE("parse: QUEUE PAUSE and RESUME in any case") {
  const PauseQueues pause = command<PauseQueues>("QUEUE pause a b");
  CHECK(pause.action == PauseQueues::Action::kPause);
  CHECK(pause.names == Names{"a", "b"});
  CHECK_FALSE(pause.is_all);
  CHECK(command<PauseQueues>("QUEUE Resume a").action == PauseQueues::Action::kResume);
}

TEST_CASE("parse: QUEUE * is all queues as the first name only") {
  CHECK(command<PauseQueues>("QUEUE PAUSE *").is_all);
  CHECK_FALSE(command<PauseQueues>("QUEUE PAUSE a *").is_all);
}

TEST_CASE("parse: QUEUE of other kinds") {
  CHECK(refused("QUEUE UNPAUSE a").text == "UNPAUSE");
  CHECK(refused("QUEUE ").reason == Reason::kUnknownSubcommand);
}

TEST_CASE("parse_hello: everything") {
  const auto hello =
      parse_hello(R"(HELLO {"v":2,"wid":"w","hostname":"h","pid":7,"labels":["a"],"pwdhash":"p",)"
                  R"("username":null,"rss_kb":1,"startedat":"2023-11-14T22:13:20Z","x":[{}]})");
  REQUIRE(hello);
  CHECK(hello->version == 2);
  CHECK(hello->password_hash == "p");
  CHECK(hello->worker.wid == "w");
  CHECK(hello->worker.hostname == "h");
  CHECK(hello->worker.pid == 7);
  CHECK(hello->worker.labels == std::vector<std::string>{"a"});
}

TEST_CASE("parse_hello: nothing is mandatory") {
  CHECK(parse_hello("HELLO {}"));
  CHECK(parse_hello(R"(HELLO {"v":null,"wid":null,"labels":null,"pwdhash":null})"));
  CHECK(parse_hello(R"(HELLO {"v":255})"));
}

TEST_CASE("parse_hello: what no HELLO is") {
  CHECK_FALSE(parse_hello(""));
  CHECK_FALSE(parse_hello("hello {}"));
  CHECK_FALSE(parse_hello("HELLO  {}"));
  CHECK_FALSE(parse_hello("HELLO"));
  CHECK_FALSE(parse_hello("HELLO []"));
  CHECK_FALSE(parse_hello("HELLO null"));
  CHECK_FALSE(parse_hello("HELLO {bad"));
  CHECK_FALSE(parse_hello("GET / HTTP/1.1"));
}

TEST_CASE("parse_hello: wrong types and ranges") {
  CHECK_FALSE(parse_hello(R"(HELLO {"v":"2"})"));
  CHECK_FALSE(parse_hello(R"(HELLO {"v":256})"));
  CHECK_FALSE(parse_hello(R"(HELLO {"v":-1})"));
  CHECK_FALSE(parse_hello(R"(HELLO {"v":2.0})"));
  CHECK_FALSE(parse_hello(R"(HELLO {"wid":5})"));
  CHECK_FALSE(parse_hello(R"(HELLO {"pid":"123"})"));
  CHECK_FALSE(parse_hello(R"(HELLO {"labels":[1]})"));
  CHECK_FALSE(parse_hello(R"(HELLO {"startedat":"now"})"));
}

TEST_CASE("parse_hello: a wid at its limit and one past it") {
  const std::string wid(kWidBytesMax, 'w');
  CHECK(parse_hello("HELLO {\"wid\":\"" + wid + "\"}"));
  CHECK_FALSE(parse_hello("HELLO {\"wid\":\"" + wid + "w\"}"));
}

}  // namespace millrace::faktory
