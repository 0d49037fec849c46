#include "faktory/session/long/long_line.hpp"

#include "faktory/service.hpp"
#include "faktory/session/line_buffer.hpp"
#include "faktory/session/talking.hpp"
#include "support/doctest.hpp"
#include "support/queued_background.hpp"

namespace millrace::faktory {
namespace {

std::string long_args(std::size_t bytes = kLongLineBytes) {
  return R"(,"args":[")" + std::string(bytes, 'x') + R"("])";
}

const std::string kAck = "ACK {\"jid\":\"x\"}\n";

/// A session whose long lines are parsed when the test says so.
struct Waiting {
  Waiting() {
    session->start(server.now());
    session->receive("HELLO {\"v\":2,\"wid\":\"w\"}\n", server.now());
    (void)session->take_output();
  }
  ~Waiting() {
    if (session) session->close(server.now());
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  /// All that is answered once the lines were parsed.
  std::string finish() {
    std::string answer;
    do {
      while (session->wants_resume()) {
        session->resume(server.now());
        answer += session->take_output();
        (void)server.take_batches();
      }
    } while (background.finish_one());
    return answer;
  }

  InMemoryServer server;
  test::QueuedBackground background;
  WorkUnits format;
  Service service{server.broker(), format, {.background = &background}, server.now()};
  std::unique_ptr<Session> session = service.open();
};

/// Sends the line in pieces, with a command after it, and answers what comes for it.
std::string ask_in_pieces(InMemoryServer& server, const std::string& line, std::size_t piece) {
  for (std::size_t at = 0; at < line.size(); at += piece) {
    server.send("a", line.substr(at, piece));
  }
  const std::string reply = server.ask("a", "\nACK {\"jid\":\"x\"}\n");
  CHECK(reply.ends_with("+OK\r\n"));
  return reply.substr(0, reply.size() - 5);
}

}  // namespace

TEST_CASE("a long line of a client that is gone is dropped, and counts until then") {
  Waiting waiting;
  const std::string line = "PUSH " + job("job-100001", long_args()) + "\n";
  for (std::size_t at = 0; at < line.size(); at += 32'768) {
    waiting.session->receive(line.substr(at, 32'768), waiting.server.now());
  }
  CHECK(waiting.session->kept_bytes() > kLongLineBytes);
  CHECK(waiting.service.left_behind_bytes() == 0);
  waiting.session->note_broken();
  waiting.session->close(waiting.server.now());
  waiting.session.reset();
  CHECK(waiting.service.left_behind_bytes() > kLongLineBytes);
  CHECK(waiting.background.finish_one());
  CHECK(waiting.service.left_behind_bytes() == 0);
  CHECK_FALSE(waiting.background.finish_one());
}

TEST_CASE("PUSH of a long line: the job is stored and shown as it is") {
  InMemoryServer server;
  join(server, "a", "w");
  for (const std::size_t piece : {32'768, 1'000'000}) {
    const std::string jid = "job-" + std::to_string(100'000 + piece);
    CHECK(ask_in_pieces(server, "PUSH " + job(jid, long_args()) + "\r", piece) == "+OK\r\n");
    const std::string shown = server.ask("a", "FETCH default\n");
    CHECK(contains(shown, R"(,"jid":")" + jid));
    CHECK(contains(shown, long_args()));
  }
}

TEST_CASE("long line: nothing else of the client is executed until it was parsed") {
  Waiting waiting;
  Session& session = *waiting.session;
  const std::string push = "PUSH " + job("job-12345", long_args(3 * kLongLineBytes));
  session.receive(push + "\n" + kAck + "END\n", waiting.server.now());
  CHECK(waiting.background.size() == 1);
  CHECK(session.is_at_work());
  CHECK_FALSE(session.wants_resume());
  CHECK_FALSE(session.wants_input());
  CHECK_FALSE(session.wants_close());
  CHECK(session.kept_bytes() == push.size() + kAck.size() + 4);
  CHECK(session.output().empty());
  CHECK(waiting.finish() == "+OK\r\n+OK\r\n+OK\r\n");
  CHECK_FALSE(session.is_at_work());
  CHECK(session.wants_close());
  CHECK(session.kept_bytes() == 0);
}

TEST_CASE("long line: its session is woken when it was parsed") {
  Waiting waiting;
  waiting.session->receive("PUSH " + job("job-12345", long_args()) + "\n", waiting.server.now());
  CHECK(waiting.server.broker().take_woken().empty());
  waiting.background.finish_one();
  CHECK(waiting.server.broker().take_woken() == std::vector{waiting.session.get()});
  CHECK(waiting.finish() == "+OK\r\n");
}

TEST_CASE("long line: the job is as old as the line, whenever it was parsed") {
  Waiting waiting;
  const Time came = waiting.server.now();
  waiting.session->receive("PUSH " + job("job-12345", long_args()) + "\n", came);
  waiting.background.finish_one();
  waiting.session->resume(came + 5s);
  const Job* const pushed = waiting.server.broker().view().jobs().find(1);
  REQUIRE(pushed != nullptr);
  CHECK(pushed->created_at == came);
  CHECK(pushed->enqueued_at == came + 5s);
}

TEST_CASE("long line: of each verb, up to its own length in place") {
  const auto is_parsed_later = [](const std::string& verb, std::size_t bytes) {
    Waiting waiting;
    const std::string line = verb + std::string(bytes - verb.size(), ' ');
    waiting.session->receive(line + "\n", waiting.server.now());
    const bool is_later = waiting.background.size() > 0;
    CHECK(waiting.finish().size() + waiting.session->output().size() > 0);
    return is_later;
  };
  for (const auto& row :
       {std::pair("PUSH {}", kLongLineBytes), std::pair("PUSHB []", kInPlaceBytes),
        std::pair(R"(ACK {"jid":"x"})", kShortLineBytes),
        std::pair(R"(FAIL {"jid":"x"})", kShortLineBytes),
        std::pair(R"(BEAT {"wid":"w"})", kShortLineBytes),
        std::pair(R"(TRACK SET {"jid":"x"})", kShortLineBytes),
        std::pair(R"(MUTATE {"cmd":"clear","target":"dead"})", kShortLineBytes)}) {
    const std::string verb = row.first;
    const std::size_t bytes = row.second;
    CAPTURE(verb);
    CHECK_FALSE(is_parsed_later(verb, bytes));
    CHECK(is_parsed_later(verb, bytes + 1));
  }
  CHECK_FALSE(is_parsed_later("QUEUE LATENCY", kLongLineBytes + 1));
}

TEST_CASE("long line: a long reply and a wait behind it stay in order") {
  Waiting waiting;
  const auto id = waiting.server.broker().put({.queue = "default", .body = "b", .ttr_s = 60},
                                              waiting.server.now());
  REQUIRE(id);
  const std::string bulk = "PUSHB [" + std::string(kInPlaceBytes, ' ') + "]\n";
  waiting.session->receive("FETCH default\n" + bulk + "FETCH default\n" + bulk + kAck,
                           waiting.server.now());
  CHECK(contains(waiting.session->take_output(), "beanstalk-1"));
  CHECK(waiting.finish() == "$2\r\n{}\r\n");
  CHECK(waiting.background.size() == 0);
  waiting.server.advance(2s);
  CHECK(waiting.finish() == "$-1\r\n$2\r\n{}\r\n+OK\r\n");
}

TEST_CASE("long line: a client that leaves takes it along, parsed or not") {
  for (const bool is_parsed : {false, true}) {
    Waiting waiting;
    waiting.session->receive("PUSH " + job("job-12345", long_args()) + "\n", waiting.server.now());
    if (is_parsed) waiting.background.finish_one();
    waiting.session->note_broken();
    waiting.session->close(waiting.server.now());
    waiting.session.reset();
    CHECK(waiting.background.finish_one() != is_parsed);
    CHECK(waiting.server.broker().view().jobs().find(1) == nullptr);
  }
}

TEST_CASE("long line: is dropped with the background, when the server ends") {
  Waiting waiting;
  {
    test::QueuedBackground background;
    Service service(waiting.server.broker(), waiting.format, {.background = &background},
                    waiting.server.now());
    const std::unique_ptr<Session> session = service.open();
    session->start(waiting.server.now());
    session->receive("HELLO {\"v\":2}\nPUSH " + job("job-12345", long_args()) + "\n",
                     waiting.server.now());
    CHECK(background.size() == 1);
    session->close(waiting.server.now());
  }
  CHECK(waiting.server.broker().view().jobs().find(1) == nullptr);
}

TEST_CASE("long line: a client that closes its side while it is parsed gets the answer") {
  Waiting waiting;
  waiting.session->receive("PUSH " + job("job-12345", long_args()) + "\n" + kAck,
                           waiting.server.now());
  waiting.session->end_of_input(waiting.server.now());
  CHECK(waiting.session->is_at_work());
  CHECK_FALSE(waiting.session->wants_close());
  CHECK(waiting.finish() == "+OK\r\n+OK\r\n");
  CHECK(waiting.session->wants_close());
}

TEST_CASE("long line: a worker that is evicted while it is parsed is not answered") {
  Waiting waiting;
  const std::string push = "PUSH " + job("job-12345", long_args()) + "\n";
  waiting.session->receive(push, waiting.server.now());
  waiting.session->deliver({.kind = Delivery::Kind::kEvicted}, waiting.server.now());
  CHECK(waiting.session->wants_close());
  waiting.background.finish_one();
  CHECK_FALSE(waiting.session->wants_resume());
  CHECK(waiting.finish().empty());
}

TEST_CASE("PUSHB of a long line: what it takes counts until it is answered") {
  Waiting waiting;
  InMemoryServer& server = waiting.server;
  Session* const session = waiting.session.get();
  std::string line = "PUSHB [" + job("job-12345", long_args());
  for (int i = 0; i < 20'000; ++i) line += R"(,{"jid":"bad-)" + std::to_string(i) + R"("})";
  session->receive(line + "]\n", server.now());
  CHECK(session->kept_bytes() == line.size() + 1);
  waiting.background.finish_one();
  std::size_t unrendered = 0;
  while (session->output().empty()) {
    CHECK(session->kept_bytes() + session->unrendered_bytes() > kLongLineBytes);
    unrendered = session->unrendered_bytes();
    session->resume(server.now());
  }
  // A refusal has some fifty bytes.
  CHECK(unrendered > 20'000 * 40);
  std::size_t reply = 0;
  while (!session->output().empty()) {
    reply += session->take_output().size();
    session->resume(server.now());
  }
  CHECK(reply > unrendered);
  CHECK(session->kept_bytes() == 0);
  CHECK(session->unrendered_bytes() == 0);
}

TEST_CASE("PUSH of a long line: mistakes") {
  InMemoryServer server;
  join(server, "a");
  const std::string text(kLongLineBytes, 'x');
  const auto push = [&](const std::string& json) {
    return ask_in_pieces(server, "PUSH " + json, 30'000);
  };
  CHECK(push("[\"" + text + "\"]") == "-ERR invalid JSON: a job must be an object\r\n");
  CHECK(push("{\"args\":[\"" + text + "\"]}") ==
        "-ERR jobs must have a reasonable jid parameter\r\n");
  CHECK(push(job("job-12345", long_args() + "}")) ==
        "-ERR invalid JSON: invalid character after top-level value\r\n");
  CHECK(push("{\"jid\":\"" + text) ==
        "-ERR invalid JSON: A string is opened, but never closed.\r\n");
  CHECK(push(std::string(kLongLineBytes, '[')) == "-ERR invalid JSON: a job must be an object\r\n");
  const std::string deep = std::string(kLongLineBytes, '[') + std::string(kLongLineBytes, ']');
  CHECK(push("{\"a\":" + deep + "}") == "-ERR invalid JSON: nested deeper than 512 levels\r\n");
  CHECK(push("{\"a\":" + std::string(kLongLineBytes, '[')).starts_with("-ERR invalid JSON: "));
  CHECK(push(job("job-12345", long_args() + R"(,"x":"\q")")).starts_with("-ERR invalid JSON: "));
  CHECK(push(job("job-12345", long_args() + R"(,"x":01)")).starts_with("-ERR invalid JSON: "));
  CHECK(push(job("job-12345", long_args() + R"(,"x":"\u12")")).starts_with("-ERR invalid JSON: "));
  CHECK(push(job("job-12345", long_args() + ",\"x\":\"\x01\"")).starts_with("-ERR invalid JSON: "));
  CHECK(push(job("job-12345", long_args() + R"(,"jid":"j",)")).starts_with("-ERR invalid JSON: "));
  CHECK(push(job("job-12345", long_args() + R"(,"jid":"j")")) ==
        "-ERR jobs must have a reasonable jid parameter\r\n");
  CHECK(contains(info(server, "a"), R"("total_enqueued":0)"));
}

TEST_CASE("PUSH of a long line: what is no text is repaired, as in a short one") {
  InMemoryServer server;
  join(server, "a", "w");
  const std::string odd = R"(,"custom":{"x":"\ud800\udc00\ud800 )"
                          "\xFF\xC3"
                          R"("})";
  for (const std::string& more : {odd, odd + long_args()}) {
    CHECK(ask_in_pieces(server, "PUSH " + job("job-12345", more), 30'000) == "+OK\r\n");
    CHECK(contains(server.ask("a", "FETCH default\n"), R"({"x":"\ud800\udc00\ufffd )"
                                                       "\xEF\xBF\xBD\xEF\xBF\xBD"
                                                       R"("})"));
    CHECK(server.ask("a", R"(ACK {"jid":"job-12345"})"
                          "\n") == "+OK\r\n");
  }
}

TEST_CASE("PUSH of a long line: as many members as of a short one") {
  InMemoryServer server;
  join(server, "a");
  std::string members;
  for (int i = 0; i < 996; ++i) members += R"(,"m":)" + std::string(300, '7');
  CHECK(ask_in_pieces(server, "PUSH " + job("job-12345", members), 30'000) == "+OK\r\n");
  CHECK(ask_in_pieces(server, "PUSH " + job("job-12345", members + R"(,"m":1)"), 30'000) ==
        "-ERR invalid JSON: a job of more than 1000 members\r\n");
}

TEST_CASE("PUSH of a long line: a client that closes its side gets the answer") {
  InMemoryServer server;
  join(server, "a");
  server.send("a", "PUSH " + job("job-12345", long_args()) + "\n");
  server.half_close("a");
  CHECK(server.take_output("a") == "+OK\r\n");
  CHECK_FALSE(server.is_open("a"));
}

TEST_CASE("PUSHB of a long line: short jobs, long ones, and refused ones") {
  InMemoryServer server;
  join(server, "a", "w");
  const std::string jobs = "[ " + job("job-10000", long_args()) + " , null , " + job("job-10001") +
                           R"( , {"jid":"job-10002"},)" + job("job-10003", R"(,"queue":"]\"[")") +
                           " , " + job("job-10004", R"(,"at":"x")" + long_args()) + "]";
  for (const std::size_t piece : {32'768, 1'000'000}) {
    const std::string reply = ask_in_pieces(server, "PUSHB " + jobs, piece);
    CHECK(contains(reply, R"({"":"jobs must have a reasonable jid parameter",)"));
    CHECK(contains(reply, R"("job-10002":"jobs must have a jobtype parameter",)"));
    CHECK(contains(reply, R"("job-10003":"cannot get \"]\"[\" queue)"));
    CHECK(contains(reply, R"("job-10004":"invalid timestamp)"));
    CHECK(contains(server.ask("a", "FETCH default\n"), long_args()));
    CHECK(contains(server.ask("a", "FETCH default\n"), "job-10001"));
    // Else the same jobs would be there already the next time.
    for (const std::string jid : {"job-10000", "job-10001"}) {
      CHECK(server.ask("a", R"(ACK {"jid":")" + jid + "\"}\n") == "+OK\r\n");
    }
    server.send("a", "FETCH none\n");
    server.advance(2s);
    CHECK(server.take_output("a") == "$-1\r\n");
  }
}

TEST_CASE("PUSHB of a long line: answers what a short one does") {
  InMemoryServer server;
  join(server, "a");
  const std::string blanks(kLongLineBytes, ' ');
  for (const std::string& json :
       {std::string("[]"), std::string("null"), std::string("[{}]"), std::string("[null,{}]"),
        std::string(R"([{"jid":"12345678"},{"jid":"\u0041\"]}[{,"}])")}) {
    const std::string reply = server.ask("a", "PUSHB " + json + "\n");
    CHECK(reply.starts_with("$"));
    CHECK(ask_in_pieces(server, "PUSHB " + blanks + json, 30'000) == reply);
    CHECK(ask_in_pieces(server, "PUSHB " + json + blanks, 30'000) == reply);
    const std::string inside = json.substr(0, 1) + blanks + json.substr(1);
    if (json != "null") CHECK(ask_in_pieces(server, "PUSHB " + inside, 30'000) == reply);
  }
  for (const std::string& json : {std::string("[7]"), std::string("[{}"), std::string("{}"),
                                  std::string("[{}]]"), std::string(R"([{"jid":7}])")}) {
    CHECK(server.ask("a", "PUSHB " + json + "\n").starts_with("-ERR invalid JSON: "));
    CHECK(
        ask_in_pieces(server, "PUSHB " + blanks + json, 30'000).starts_with("-ERR invalid JSON: "));
  }
}

TEST_CASE("PUSHB of a long line: all jobs arrive, wherever the pieces end") {
  for (const char c : {'n', '"', '\\', '[', ']', '{', '}', ','}) {
    CAPTURE(c);
    InMemoryServer server;
    join(server, "a");
    // Of a length that the pieces are no multiple of.
    const std::string unit = c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    std::string text;
    while (text.size() < 10'007) text += unit;
    std::string jobs;
    for (int i = 0; i < 60; ++i) {
      jobs += "," + job("job-" + std::to_string(100'000 + i), R"(,"custom":{"x":")" + text + "\"}");
      jobs += ",null";
    }
    CHECK(ask_in_pieces(server, "PUSHB [" + jobs.substr(1) + "]", 30'000) ==
          "$48\r\n{\"\":\"jobs must have a reasonable jid parameter\"}\r\n");
    CHECK(contains(info(server, "a"), R"("total_enqueued":60)"));
  }
}

TEST_CASE("PUSHB of a long line: as many refusals as there are jobs") {
  InMemoryServer server;
  join(server, "a");
  std::string jobs;
  std::string refusals;
  for (int i = 100'000; i < 120'000; ++i) {
    const std::string jid = "\"job-" + std::to_string(i) + '"';
    jobs += ",{\"jid\":" + jid + "}";
    refusals += "," + jid + R"(:"jobs must have a jobtype parameter")";
  }
  const std::string object = "{" + refusals.substr(1) + "}";
  CHECK(ask_in_pieces(server, "PUSHB [" + jobs.substr(1) + "]", 30'000) ==
        "$" + std::to_string(object.size()) + "\r\n" + object + "\r\n");
}

}  // namespace millrace::faktory
