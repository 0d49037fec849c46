#include <iterator>
#include <random>
#include <string>

#include "support/doctest.hpp"
#include "support/in_memory_server.hpp"

/// What no proper client does. Loops are the point here.
namespace millrace::test {
namespace {

constexpr int kRandomLines = 1'000'000;
constexpr std::uint32_t kSeed = 20240301;

const std::string kHello = "HELLO {\"v\":2,\"wid\":\"w\"}\r\n";

void join(InMemoryServer& server, const std::string& name) {
  server.connect(name, Protocol::kFaktory);
  CHECK(server.ask(name, kHello) == "+HI {\"v\":2}\r\n+OK\r\n");
}

/// How many replies these are, or -1 when they are not well-formed.
int count_replies(std::string_view output) {
  int count = 0;
  for (; !output.empty(); ++count) {
    const std::size_t end = output.find("\r\n");
    if (end == std::string_view::npos) return -1;
    const std::string head(output.substr(0, end));
    output.remove_prefix(end + 2);
    if (head.starts_with("+OK") || head.starts_with("-ERR ") || head == "$-1") continue;
    if (!head.starts_with('$')) return -1;
    const std::size_t bytes = std::stoull(head.substr(1));
    if (output.size() < bytes + 2 || output.substr(bytes, 2) != "\r\n") return -1;
    if (!output.starts_with('{') || output[bytes - 1] != '}') return -1;
    output.remove_prefix(bytes + 2);
  }
  return count;
}

/// A line of pieces that mean something to the parser, in any order, and of any bytes but LF.
std::string random_line(std::mt19937& chance) {
  static const std::string_view kPieces[] = {"PUSH ",
                                             "PUSHB ",
                                             "FETCH ",
                                             "ACK ",
                                             "FAIL ",
                                             "BEAT ",
                                             "INFO",
                                             "QUEUE ",
                                             "PAUSE ",
                                             "RESUME ",
                                             "TRACK ",
                                             "BATCH ",
                                             "{",
                                             "}",
                                             "[",
                                             "]",
                                             ",",
                                             ":",
                                             "\"",
                                             "\\",
                                             "\"jid\":",
                                             "\"12345678\"",
                                             "\"args\":",
                                             "[]",
                                             "\"jobtype\":\"T\"",
                                             "\"custom\":",
                                             "{}",
                                             "null",
                                             "true",
                                             "-1",
                                             "1e5",
                                             "01",
                                             "\"at\":",
                                             "\"failure\":",
                                             "\"\\u00e9\"",
                                             "\"\\ud800\"",
                                             "\xFF",
                                             " ",
                                             "default",
                                             "*",
                                             "\"wid\":\"w\"",
                                             "\"retry\":",
                                             "\r",
                                             "\"backtrace\":",
                                             "12345678901234567890",
                                             R"({"jid":"12345678","jobtype":"T","args":[]})"};
  std::string line;
  const std::size_t count = chance() % 12;
  for (std::size_t i = 0; i < count; ++i) line += kPieces[chance() % std::size(kPieces)];
  while (chance() % 4 == 0) line += static_cast<char>(chance() % 256);
  for (char& c : line) c = c == '\n' ? 'n' : c;
  return line;
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

}  // namespace

/// The command with as many bytes more, in a member that means nothing.
std::string padded(const std::string& verb, const std::string& members, std::size_t bytes) {
  std::string line = verb + " {" + members + R"(,"x":")";
  line += std::string(bytes - line.size() - 2, 'x') + "\"}";
  CHECK(line.size() == bytes);
  return line + "\r\n";
}

std::string too_long(std::size_t bytes_max) {
  return "-ERR line is longer than " + std::to_string(bytes_max) + " bytes\r\n";
}

TEST_CASE("hostile: each of many random lines gets exactly one reply") {
  InMemoryServer server;
  join(server, "a");
  std::mt19937 chance(kSeed);
  CAPTURE(kSeed);
  for (int i = 0; i < kRandomLines; ++i) {
    const std::string line = random_line(chance);
    std::string output = server.ask("a", line + "\n");
    if (output.empty()) {  // a FETCH that waits
      server.advance(1950ms);
      output = server.take_output("a");
    }
    if (count_replies(output) != 1) FAIL("line " << i << ": " << line << "\ngot: " << output);
    if (i % 20 == 0) CHECK(server.ask("a", "BEAT {\"wid\":\"w\"}\n").size() > 2);
  }
}

TEST_CASE("hostile: bytes that are no lines") {
  std::mt19937 chance(kSeed);
  for (int i = 0; i < 2'000; ++i) {
    InMemoryServer server;
    server.connect("a", Protocol::kFaktory);
    std::string bytes(chance() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(chance());
    server.send("a", bytes, 1 + chance() % 20);
    server.half_close("a");
    CHECK(server.take_output("a") == "+HI {\"v\":2}\r\n");
    CHECK_FALSE(server.is_open("a"));
  }
}

TEST_CASE("hostile: a conversation cut at every place") {
  const std::string talk =
      kHello +
      "PUSH {\"jid\":\"12345678\",\"jobtype\":\"T\",\"args\":[\"\\u00e9\"]}\r\n"
      "FETCH q default\nACK {\"jid\":\"12345678\"}\n\r\nEND\r\n";
  InMemoryServer whole;
  whole.connect("a", Protocol::kFaktory);
  const std::string expected = whole.ask("a", talk);
  for (std::size_t cut = 1; cut < talk.size(); ++cut) {
    InMemoryServer server;
    server.connect("a", Protocol::kFaktory);
    server.send("a", talk.substr(0, cut));
    server.send("a", talk.substr(cut));
    CAPTURE(cut);
    CHECK(server.take_output("a") == expected);
  }
}

TEST_CASE("hostile: a connection that ends at every place") {
  const std::string talk = kHello + "PUSHB [{\"jid\":\"12345678\"}]\r\nFETCH q\r\nEND\r\n";
  for (std::size_t cut = 0; cut < talk.size(); ++cut) {
    InMemoryServer server;
    server.connect("a", Protocol::kFaktory);
    server.connect("b", Protocol::kFaktory);
    server.send("a", talk.substr(0, cut));
    server.half_close("a");
    CAPTURE(cut);
    CHECK_FALSE(server.is_open("a"));
    server.send("b", talk.substr(0, cut));
    server.close("b");
  }
}

TEST_CASE("hostile: deep nesting in every command that reads JSON") {
  InMemoryServer server;
  join(server, "a");
  const std::string deep = nested(10'000);
  CHECK(server.ask("a", "PUSH {\"jid\":\"12345678\",\"jobtype\":\"T\",\"args\":" + deep + "}\n") ==
        "-ERR invalid JSON: nested deeper than 512 levels\r\n");
  CHECK(server.ask("a", "PUSHB " + deep + "\n").starts_with("-ERR invalid JSON: "));
  CHECK(server.ask("a", "ACK " + deep + "\n").starts_with("-ERR invalid ACK [["));
  CHECK(server.ask("a", "FAIL {\"jid\":" + deep + "}\n").starts_with("-ERR invalid FAIL {"));
  CHECK(server.ask("a", "BEAT {\"x\":" + deep + "}\n").starts_with("-ERR invalid BEAT {"));
  CHECK(server.ask("a", "PUSH {\"failure\":{\"x\":" + deep + "}}\n").starts_with("-ERR "));
}

TEST_CASE("hostile: deep nesting in a beanstalk body is text to a worker") {
  InMemoryServer server;
  join(server, "a");
  server.connect("put", Protocol::kBeanstalk);
  const std::string body = R"({"jobtype":"T","args":)" + nested(10'000) + "}";
  CHECK(server.ask("put", "put 0 0 10 " + std::to_string(body.size()) + "\r\n" + body + "\r\n") ==
        "INSERTED 1\r\n");
  CHECK(server.ask("a", "FETCH default\n").find(R"("jobtype":"beanstalk")") != std::string::npos);
}

TEST_CASE("hostile: deep nesting in HELLO") {
  InMemoryServer server;
  server.connect("a", Protocol::kFaktory);
  CHECK(server.ask("a", "HELLO {\"labels\":" + nested(1'000) + "}\n") == "+HI {\"v\":2}\r\n");
  CHECK_FALSE(server.is_open("a"));
}

TEST_CASE("hostile: a client cannot write a second reply") {
  InMemoryServer server;
  join(server, "a");
  const std::string forged = "x\\r\\n+OK\\r\\n";
  CHECK(count_replies(server.ask("a", "BEAT {\"wid\":\"" + forged + "\"}\n")) == 1);
  CHECK(count_replies(server.ask("a", "FAIL {\"jid\":\"" + forged + "\"}\n")) == 1);
  CHECK(count_replies(server.ask("a", "ACK x\r+OK\r\n")) == 1);
  CHECK(count_replies(server.ask("a", "x\r+OK\r\r\n")) == 1);
  CHECK(count_replies(server.ask("a", "QUEUE x\r+OK\r\n")) == 1);
  CHECK(count_replies(server.ask("a",
                                 "PUSH {\"jid\":\"12345678\",\"jobtype\":\"T\",\"args\":[],"
                                 "\"queue\":\"" +
                                     forged + "\"}\n")) == 1);
  CHECK(count_replies(server.ask("a",
                                 "PUSH {\"jid\":\"12345678\",\"jobtype\":\"T\",\"args\":[],"
                                 "\"at\":\"" +
                                     forged + "\"}\n")) == 1);
  CHECK(count_replies(server.ask("a", "PUSHB [{\"jid\":\"" + forged + "\"}]\n")) == 1);
}

TEST_CASE("long lines: what a worker reports of its jobs is never refused for its length") {
  InMemoryServer server;
  join(server, "worker");
  for (const std::size_t bytes : {65'536UL, 65'537UL, 5'000'000UL}) {
    CAPTURE(bytes);
    CHECK(server.ask("worker", "PUSH {\"jid\":\"job-00001\",\"jobtype\":\"T\",\"args\":[]}\n") ==
          "+OK\r\n");
    CHECK(server.ask("worker", "FETCH default\n").find("job-00001") != std::string::npos);
    CHECK(server.ask("worker", padded("BEAT", R"("wid":"w")", bytes)) == "+OK\r\n");
    CHECK(server.ask("worker", padded("TRACK SET", R"("jid":"job-00001","percent":5)", bytes)) ==
          "+OK\r\n");
    CHECK(server.ask("worker", "TRACK GET job-00001\n").find(R"("percent":5)") !=
          std::string::npos);
    const std::string after = R"("message":")" + std::string(bytes, 'm') + R"(","jid":"job-00001")";
    CHECK(server.ask("worker", "FAIL {" + after + "}\r\n") == "+OK\r\n");
    CHECK(server.ask("worker", "MUTATE {\"cmd\":\"requeue\",\"target\":\"retries\"}\n") ==
          "+OK\r\n");
    CHECK(server.ask("worker", "FETCH default\n").find(std::string(1000, 'm') + '"') !=
          std::string::npos);
    CHECK(server.ask("worker", padded("ACK", R"("jid":"job-00001")", bytes)) == "+OK\r\n");
    CHECK(server.ask("worker", "FETCH default\n") == "");
    server.advance(2s);
    CHECK(server.take_output("worker") == "$-1\r\n");
  }
}

TEST_CASE("long lines: odd text in a FAIL is no reason to lose the failure") {
  InMemoryServer server;
  join(server, "worker");
  const auto fail = [&](const std::string& members) {
    (void)server.ask("worker", "PUSH {\"jid\":\"job-00001\",\"jobtype\":\"T\",\"args\":[]}\n");
    (void)server.ask("worker", "FETCH default\n");
    std::string reply = server.ask("worker", "FAIL {\"jid\":\"job-00001\"," + members + "}\n");
    (void)server.ask("worker", "MUTATE {\"cmd\":\"clear\",\"target\":\"retries\"}\n");
    return reply;
  };
  CHECK(fail("\"message\":\"\xFF\xC3\"") == "+OK\r\n");
  CHECK(fail(R"("message":"\ud800\u0000")") == "+OK\r\n");
  CHECK(fail(std::string("\"message\":\"a\0b\x01\"", 16)) == "+OK\r\n");
  CHECK(fail("\"x\":" + nested(9'000)) == "+OK\r\n");
  CHECK(fail("\"errtype\":\"" + std::string(2'000'000, 'E') + '"') == "+OK\r\n");
}

TEST_CASE("long lines: other commands have no reason to be long") {
  InMemoryServer server;
  join(server, "worker");
  CHECK(server.ask("worker", "FLUSH " + std::string(65531, ' ') + "\n") == too_long(65536));
  CHECK(server.ask("worker", "TRACK GET " + std::string(65531, 'x') + "\n") == too_long(65536));
  CHECK(server.ask("worker", "FLUSH\r\n") == "+OK\r\n");
}

TEST_CASE("long lines: a client that never ends one is closed, with the reason") {
  InMemoryServer server;
  join(server, "worker");
  const std::string more(1024 * 1024, 'x');
  server.send("worker", R"(FAIL {"message":")");
  for (int i = 0; i < 128; ++i) server.send("worker", more, more.size());
  CHECK(server.is_open("worker"));
  server.send("worker", more, more.size());
  server.send("worker", more, more.size());
  CHECK(server.take_output("worker") == too_long(64 * 1024 * 1024));
  CHECK_FALSE(server.is_open("worker"));
}

TEST_CASE("long lines: MUTATE and lists of queues have limits of their own") {
  InMemoryServer server;
  join(server, "worker");
  const std::string kill = R"("cmd":"kill","target":"dead","filter":{"jids":["a"]})";
  CHECK(server.ask("worker", padded("MUTATE", kill, 512 * 1024)) == "+OK\r\n");
  CHECK(server.ask("worker", padded("MUTATE", kill, 512 * 1024 + 1)) == too_long(512 * 1024));
  constexpr std::size_t kNamesMax = 1024 * 1025 + 65536;
  const auto latency = [](std::size_t bytes) {
    return "QUEUE LATENCY" + std::string(bytes - 13, ' ') + "\r\n";
  };
  CHECK(server.ask("worker", latency(kNamesMax)) == "$2\r\n{}\r\n");
  CHECK(server.ask("worker", latency(kNamesMax + 1)) == too_long(kNamesMax));
}

}  // namespace millrace::test
