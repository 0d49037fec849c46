#include "server/web/web_connection.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "http/kit/text.hpp"
#include "server/web/web_client.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// `a:right` and `a:wrong`.
constexpr std::string_view kRight = "Authorization: Basic YTpyaWdodA==\r\n";
constexpr std::string_view kWrong = "Authorization: Basic YTp3cm9uZw==\r\n";

}  // namespace

TEST_CASE("web connection: the API refuses an address with a broken escape, the pages accept it") {
  RunningServer running(with_web());
  SocketClient client = running.connect("web");
  CHECK(ask(client, get("/api/v1/jobs?error=%zz")).status == 400);
  CHECK(ask(client, get("/api/v1/jobs?error=50%25")).status == 200);
  CHECK(ask(client, get("/jobs?error=50%")).status == 200);
}

TEST_CASE("web connection: a client that expects 100 Continue gets it once") {
  RunningServer running(with_web());
  SocketClient client = running.connect("web");
  std::string request = post("/api/v1/jobs", kJob);
  const std::size_t head_bytes = request.find("\r\n\r\n");
  request.insert(head_bytes, "\r\nExpect: 100-continue");
  const std::size_t body_at = request.size() - kJob.size();
  constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
  client.send(request.substr(0, body_at));
  CHECK(client.read(kGoOn.size()) == kGoOn);
  CHECK(ask(client, request.substr(body_at)).status == 201);
}

TEST_CASE("web connection: a malformed request is answered by 400, and the connection is closed") {
  RunningServer running(with_web());
  for (const char* request : {"NONSENSE\r\n\r\n", "GET / HTTP/9\r\n\r\n", "\r\n\r\n",
                              "GET /\r\n\r\n", "\xff\xfe\x00\x01\r\n\r\n"}) {
    SocketClient client = running.connect("web");
    client.send(std::string(request) + get("/health"));
    const Answer answer = read_answer(client);
    CHECK_MESSAGE((answer.status == 400 || answer.status == 0), request);
    CHECK_MESSAGE(client.is_closed_by_server(), request);
  }
}

TEST_CASE(
    "web connection: a target with a host is answered as its path, under the rules for that host") {
  RunningServer running(with_web());
  SocketClient client = running.connect("web");
  CHECK(ask(client, get("http://localhost:7420/health")).body.find("serving") != std::string::npos);
  CHECK(ask(client, get("http://localhost/health?a", "", "")).status == 200);
  CHECK(ask(client, get("http://localhost/stats")).status == 200);
  CHECK(ask(client, get("http://other.example/stats")).status == 403);
}

TEST_CASE("web connection: lines may end with LF, and one empty line may come first") {
  RunningServer running(with_web());
  SocketClient client = running.connect("web");
  CHECK(ask(client, "GET /health HTTP/1.1\nHost: localhost\n\n").status == 200);
  CHECK(ask(client, "\r\n" + get("/health")).status == 200);
  CHECK(ask(client, "\nGET /health HTTP/1.0\n\n").status == 200);
  const std::string head =
      "\r\nPOST /api/v1/jobs HTTP/1.1\nHost: localhost\nContent-Type: application/json\n";
  SocketClient other = running.connect("web");
  CHECK(ask(other, head + "Content-Length: 28\n\n" + std::string(kJob)).status == 201);
  CHECK(ask(other, get("/health")).status == 200);
}

TEST_CASE("web connection: a bare LF among lines that end with CR LF is answered by 400 at once") {
  RunningServer running(with_web());
  const std::string start = "GET /health HTTP/1.1\r\nHost: localhost";
  for (const char* const end : {"\r\n\n", "\n\r\n", "\n\n", "\nX: a\r\n\r\n"}) {
    CAPTURE(end);
    SocketClient client = running.connect("web");
    CHECK(ask(client, start + end + get("/health")).status == 400);
    CHECK(client.is_closed_by_server());
  }
}

TEST_CASE("web connection: a later HTTP/1 is served, and another version is answered by 505") {
  RunningServer running(with_web());
  SocketClient client = running.connect("web");
  CHECK(ask(client, "GET /health HTTP/1.2\r\nHost: localhost\r\n\r\n").status == 200);
  CHECK(ask(client, "GET /health HTTP/1.2\r\n\r\n").status == 400);
  for (const char* const request : {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/0.9\r\n\r\n",
                                    "GET / HTTP/9.9\r\nHost: a\r\n\r\n"}) {
    CAPTURE(request);
    SocketClient other = running.connect("web");
    CHECK(ask(other, request).status == 505);
    CHECK(other.is_closed_by_server());
  }
}

TEST_CASE(
    "web connection: a path with an empty segment or with dots is no page, and not another path") {
  RunningServer running(with_web());
  SocketClient client = running.connect("web");
  for (const char* const path : {"//health", "/./health", "/a/../health", "/health//", "/jobs//"}) {
    CAPTURE(path);
    const Answer answer = ask(client, get(path));
    CHECK(answer.status == 404);
    CHECK(answer.body.find("<html") == std::string::npos);
  }
  CHECK(ask(client, get("/queues/a%2F%2Fb")).status == 200);
}

TEST_CASE("web connection: what is asked about the whole server is no page") {
  RunningServer running(with_web());
  CHECK(ask(running, "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 405);
  CHECK(ask(running, "GET * HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 400);
}

TEST_CASE("web connection: an ambiguous head is refused, and the connection is closed") {
  RunningServer running(with_web());
  const std::string head =
      "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  for (const char* headers :
       {"Content-Length: 29\r\nContent-Length: 5\r\n",
        "Content-Length: 29\r\nHost: a\r\nHost: b\r\n", "Content-Length: 29\r\nHost : a\r\n",
        "Content-Length: 29\r\nX: a\r\n b\r\n",
        "Content-Length: 29\r\nX: a\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 29\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 29\r\nno header\r\n", "Content-Length: 29\r\nX: \x01\r\n"}) {
    SocketClient client = running.connect("web");
    const Answer answer = ask(client, head + headers + "\r\n" + std::string(kJob));
    CHECK_MESSAGE(answer.status == 400, headers);
    CHECK_MESSAGE(answer.head.find("Connection: close") != std::string::npos, headers);
    CHECK_MESSAGE(client.is_closed_by_server(), headers);
  }
  CHECK(ask(running, get("/health", "Cookie: a\r\nCookie: b\r\n")).status == 200);
}

TEST_CASE("web connection: an unread body is not taken for a request") {
  RunningServer running(with_web());
  SocketClient client = running.connect("web");
  const std::string smuggled = get("/health");
  const Answer answer = ask(client, "POST /api/v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: " +
                                        std::to_string(smuggled.size()) + "\r\n\r\n" + smuggled);
  CHECK(answer.status == 415);
  CHECK(answer.head.find("Connection: close") != std::string::npos);
  CHECK(client.is_closed_by_server());
}

TEST_CASE("web connection: a refusal arrives while the client is still sending the body") {
  RunningServer running(with_web());
  SocketClient client = running.connect("web");
  client.send("POST /api/v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n");
  client.send_what_fits(std::string(3'000'000, 'x'), std::chrono::milliseconds(300));
  CHECK(read_answer(client).status == 415);
}

TEST_CASE("web connection: a head beyond its limit is refused, and the connection is closed") {
  RunningServer running(with_web());
  SocketClient client = running.connect("web");
  const std::string filler(4000, 'a');
  std::string request = "GET /health HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 20; ++i) request += "X-" + std::to_string(i) + ": " + filler + "\r\n";
  client.send_what_fits(request + "\r\n", std::chrono::milliseconds(200));
  const Answer answer = read_answer(client);
  CHECK(answer.status == 431);
  CHECK(answer.body.find("65536") != std::string::npos);
  CHECK(client.is_closed_by_server());
}

TEST_CASE("web connection: a header line may have 8192 bytes, and one more is refused") {
  RunningServer running(with_web());
  const auto line_of = [](std::size_t bytes) {
    return "X: " + std::string(bytes - std::string_view("X: \r\n").size(), 'a') + "\r\n";
  };
  CHECK(ask(running, get("/health", line_of(8192))).status == 200);
  SocketClient client = running.connect("web");
  const Answer answer = ask(client, get("/health", line_of(8193)));
  CHECK(answer.status == 431);
  CHECK(answer.body.find("8192") != std::string::npos);
  CHECK(client.is_closed_by_server());
}

TEST_CASE("web connection: a request needs a Host") {
  RunningServer running(with_web());
  const Answer answer = ask(running, get("/health", "", ""));
  CHECK(answer.status == 400);
  CHECK(answer.body.find("no Host") != std::string::npos);
  CHECK(ask(running, "GET /health HTTP/1.0\r\n\r\n").status == 200);
}

TEST_CASE("web connection: a body that is too long or of unknown length is refused by its head") {
  RunningServer running(with_web());
  const std::string head =
      "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  const Answer big = ask(running, head + "Content-Length: 2000000000\r\n\r\n");
  CHECK(big.status == 413);
  CHECK(big.body.find("the body is longer than ") != std::string::npos);
  CHECK(ask(running, head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n").status == 411);
  CHECK(ask(running, head + "Content-Length: 1x\r\n\r\n").status == 400);
}

TEST_CASE("web connection: an address beyond its limit is refused") {
  RunningServer running(with_web());
  const Answer answer = ask(running, get("/" + std::string(8200, 'a')));
  CHECK((answer.status == 400 || answer.status == 414));
  CHECK(answer.body.find("8192") != std::string::npos);
}

TEST_CASE("web connection: an address longer than a whole head is refused") {
  RunningServer running(with_web());
  SocketClient client = running.connect("web");
  client.send_what_fits(get("/" + std::string(70'000, 'a')), std::chrono::milliseconds(200));
  CHECK(read_answer(client).status == 431);
  CHECK(client.is_closed_by_server());
}

TEST_CASE("web connection: only a pushed job may have a long body") {
  RunningServer running(with_web());
  CHECK(ask(running, post("/api/v1/jobs/change", std::string(65'537, ' '))).status == 413);
  const std::string args(65'537, 'a');
  CHECK(
      ask(running, post("/api/v1/jobs", R"({"jobtype":"A","args":[")" + args + R"("]})")).status ==
      201);
}

TEST_CASE("web connection: a request for a range gets the whole file") {
  RunningServer running(with_web());
  const Answer whole = ask(running, get("/assets/app.js"));
  const Answer part = ask(running, get("/assets/app.js", "Range: bytes=0-10\r\n"));
  CHECK(part.status == 200);
  CHECK(part.body == whole.body);
  CHECK(part.head.find("Accept-Ranges: none") != std::string::npos);
}

TEST_CASE("web connection: HEAD is answered as GET without the body") {
  RunningServer running(with_web());
  SocketClient client = running.connect("web");
  const Answer whole = ask(client, get("/health"));
  std::string request = get("/health");
  client.send(request.replace(0, 3, "HEAD") + get("/health"));
  std::string head;
  while (!head.ends_with("\r\n\r\n")) head += client.read(1);
  CHECK(head.find(http::concat("Content-Length: ", whole.body.size(), "\r\n")) !=
        std::string::npos);
  CHECK(read_answer(client).body == whole.body);
}

TEST_CASE("web connection: a client that says close, or speaks HTTP/1.0, gets one answer") {
  RunningServer running(with_web());
  for (const std::string& request :
       {get("/health", "Connection: close\r\n"), std::string("GET /health HTTP/1.0\r\n\r\n")}) {
    SocketClient client = running.connect("web");
    CHECK(ask(client, request).head.find("Connection: close\r\n") != std::string::npos);
    CHECK(client.is_closed_by_server());
  }
}

TEST_CASE("web connection: a method that is none of HTTP changes nothing") {
  RunningServer running(with_web());
  SocketClient client = running.connect("web");
  std::string request = get("/jobs");
  CHECK(ask(client, request.replace(0, 3, "BREW")).status == 405);
}

TEST_CASE("web connection: a connection carries many requests, even if they are sent at once") {
  RunningServer running(with_web());
  SocketClient client = running.connect("web");
  CHECK(ask(client, get("/health")).status == 200);
  client.send(get("/health") + get("/api/v1/overview") + get("/nothing/there.js"));
  CHECK(read_answer(client).body.find("serving") != std::string::npos);
  CHECK(read_answer(client).body.find("attention") != std::string::npos);
  CHECK(read_answer(client).status == 200);
}

TEST_CASE("web connection: a request that arrives byte by byte is answered once") {
  RunningServer running(with_web());
  SocketClient client = running.connect("web");
  const std::string request = post("/api/v1/jobs", kJob);
  for (std::size_t i = 0; i + 1 < request.size(); ++i) client.send(request.substr(i, 1));
  CHECK(ask(client, request.substr(request.size() - 1)).status == 201);
  CHECK(ask(client, get("/health")).status == 200);
}

TEST_CASE("web connection: a body that arrives byte by byte belongs to its request") {
  RunningServer running(with_web());
  SocketClient client = running.connect("web");
  const std::string request = post("/api/v1/jobs", kJob);
  const std::size_t head_bytes = request.find("\r\n\r\n") + 4;
  client.send(request.substr(0, head_bytes));
  running.settle_turns();
  CHECK(client.read_available().empty());
  for (std::size_t i = head_bytes; i < request.size(); ++i) client.send(request.substr(i, 1));
  CHECK(read_answer(client).status == 201);
  client.send(request + get("/health"));
  CHECK(read_answer(client).status == 201);
  CHECK(read_answer(client).status == 200);
}

TEST_CASE("web connection: a wrong password ends the connection, a missing one does not") {
  RunningServer running(with_web("right"));
  SocketClient client = running.connect("web");
  CHECK(ask(client, get("/stats")).status == 401);
  CHECK(ask(client, get("/stats", kRight)).status == 200);
  client.send(get("/stats", kWrong) + get("/stats", kRight));
  CHECK(read_answer(client).status == 401);
  CHECK(client.is_closed_by_server());
}

TEST_CASE(
    "web connection: after some wrong passwords the address waits, and the right password is "
    "accepted") {
  RunningServer running(with_web("right"));
  SocketClient known = running.connect("web");
  CHECK(ask(known, get("/stats", kRight)).status == 200);
  for (std::uint32_t i = 0; i <= faktory::kFreeFailures; ++i) {
    CHECK(ask(running, get("/stats", kWrong)).status == 401);
  }
  const auto took = time_of([&] { CHECK(ask(running, get("/stats", kRight)).status == 200); });
  CHECK(took >= std::chrono::milliseconds(90));
  // A connection that has shown the password before does not wait.
  CHECK(ask(known, get("/stats", kRight)).status == 200);
}

TEST_CASE("web connection: guesses that are sent at once wait, and hold up nobody else") {
  constexpr std::size_t kAtOnce = 60;
  RunningServer running(with_web("right"));
  SocketClient known = running.connect("web");
  CHECK(ask(known, get("/stats", kRight)).status == 200);
  std::vector<SocketClient> tries;
  for (std::size_t i = 0; i < kAtOnce; ++i) tries.push_back(running.connect("web"));
  const auto took = time_of([&] {
    for (SocketClient& each : tries) each.send(get("/stats", kWrong));
    CHECK(ask(known, get("/stats", kRight)).status == 200);
    for (SocketClient& each : tries) CHECK(read_answer(each).status == 401);
  });
  // The last of about 53 waits for 0.1 s times their square root.
  CHECK(took >= std::chrono::milliseconds(500));
}

}  // namespace millrace::server
