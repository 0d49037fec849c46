#include "faktory/session/sliced/long_push.hpp"

#include "faktory/service.hpp"
#include "faktory/session/line_buffer.hpp"
#include "faktory/session/sliced/bulk_push.hpp"
#include "faktory/session/talking.hpp"
#include "support/doctest.hpp"

namespace millrace::faktory {
namespace {

std::string long_args(std::size_t bytes = kLongLineBytes) {
  return R"(,"args":[")" + std::string(bytes, 'x') + R"("])";
}

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

TEST_CASE("PUSH of a long line: is worked in slices, and others are served between them") {
  LoneSession lone;
  InMemoryServer& server = lone.server;
  Session* const session = lone.session.get();
  session->receive("PUSH " + job("job-12345", long_args(3 * kLongLineBytes)) + "\nEND\n",
                   server.now());
  int slices = 0;
  for (; session->output().empty(); ++slices) {
    REQUIRE(session->wants_resume());
    CHECK_FALSE(session->wants_close());
    session->resume(server.now());
  }
  // Each reads 64 KiB at most, or copies 128.
  CHECK(slices >= 12 + 2 * 6);
  while (session->wants_resume()) session->resume(server.now());
  CHECK(session->output() == "+OK\r\n+OK\r\n");
  CHECK(session->wants_close());
}

TEST_CASE("PUSHB of a long line: what it takes counts until it is answered") {
  LoneSession lone;
  InMemoryServer& server = lone.server;
  Session* const session = lone.session.get();
  std::string line = "PUSHB [" + job("job-12345", long_args());
  for (int i = 0; i < 20'000; ++i) line += R"(,{"jid":"bad-)" + std::to_string(i) + R"("})";
  session->receive(line + "]\n", server.now());
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
  CHECK(push("{\"jid\":\"" + text) == "-ERR invalid JSON: unexpected end of JSON input\r\n");
  CHECK(push(std::string(kLongLineBytes, '[')) == "-ERR invalid JSON: a job must be an object\r\n");
  CHECK(push("{\"a\":" + std::string(kLongLineBytes, '[')) ==
        "-ERR invalid JSON: nested deeper than 512 levels\r\n");
  CHECK(contains(info(server, "a"), R"("total_enqueued":0)"));
}

TEST_CASE("PUSH of a long line: a client that closes its side gets the answer") {
  InMemoryServer server;
  join(server, "a");
  server.send("a", "PUSH " + job("job-12345", long_args()) + "\n");
  server.half_close("a");
  CHECK(server.take_output("a") == "+OK\r\n");
  CHECK_FALSE(server.is_open("a"));
}

TEST_CASE("PUSH of a long line: a client that leaves takes it along") {
  InMemoryServer server;
  WorkUnits format;
  Service service(server.broker(), format, {}, server.now());
  const std::unique_ptr<Session> session = service.open();
  session->start(server.now());
  session->receive("HELLO {\"v\":2}\n", server.now());
  session->receive("PUSH " + job("job-12345", long_args()) + "\n", server.now());
  for (int i = 0; i < 6; ++i) session->resume(server.now());
  session->close(server.now());
  CHECK(server.broker().view().jobs().find(1) == nullptr);
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
