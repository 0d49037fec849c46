// The web port over real sockets: its connections, its engine and its gate.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "server/host.hpp"
#include "support/doctest.hpp"

namespace millrace::server {
namespace {

/// `a:right` and `a:wrong`.
constexpr std::string_view kRight = "Authorization: Basic YTpyaWdodA==\r\n";
constexpr std::string_view kWrong = "Authorization: Basic YTp3cm9uZw==\r\n";

Host::Setup with_web(std::string password = "") {
  Host::Setup setup;
  setup.options.web = Address{.host = "127.0.0.1", .port = 0};
  setup.options.password = std::move(password);
  return setup;
}

constexpr std::string_view kHost = "Host: localhost\r\n";

std::string get(std::string_view path, std::string_view headers = "",
                std::string_view host = kHost) {
  return "GET " + std::string(path) + " HTTP/1.1\r\n" + std::string(host) + std::string(headers) +
         "\r\n";
}

std::string post(std::string_view path, std::string_view body) {
  return "POST " + std::string(path) + " HTTP/1.1\r\nContent-Type: application/json\r\n" +
         std::string(kHost) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

struct Answer {
  int status = 0;  ///< 0: the server closed, or nothing came
  std::string head;
  std::string body;
};

/// One answer, whose length the head tells.
Answer read_answer(SocketClient& client) {
  std::string head;
  while (!head.ends_with("\r\n\r\n")) {
    const std::string byte = client.read(1);
    if (byte.empty()) return {};
    head += byte;
  }
  constexpr std::string_view kLength = "Content-Length: ";
  const std::size_t length = head.find(kLength);
  REQUIRE(length != std::string::npos);
  const int bytes = std::stoi(head.substr(length + kLength.size()));
  return {.status = std::stoi(head.substr(9, 3)),
          .head = head,
          .body = client.read(static_cast<std::size_t>(bytes))};
}

Answer ask(SocketClient& client, std::string_view request) {
  client.send(request);
  return read_answer(client);
}

Answer ask(const Host& host, std::string_view request) {
  SocketClient client = host.connect("web");
  return ask(client, request);
}

std::chrono::milliseconds time_of(const std::function<void()>& call) {
  const auto began = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               began);
}

constexpr std::string_view kJob = R"({"jobtype":"Mail","args":[]})";

}  // namespace

// ---- the port -----------------------------------------------------------------------------------

TEST_CASE("web: one connection carries many requests, also sent at once") {
  Host host(with_web());
  SocketClient client = host.connect("web");
  CHECK(ask(client, get("/health")).status == 200);
  client.send(get("/health") + get("/api/v1/overview") + get("/nothing/there.js"));
  CHECK(read_answer(client).body.find("serving") != std::string::npos);
  CHECK(read_answer(client).body.find("attention") != std::string::npos);
  CHECK(read_answer(client).status == 200);
}

TEST_CASE("web: an address with a broken escape asks the API for nothing, and a page for itself") {
  Host host(with_web());
  SocketClient client = host.connect("web");
  CHECK(ask(client, get("/api/v1/jobs?error=%zz")).status == 400);
  CHECK(ask(client, get("/api/v1/jobs?error=50%25")).status == 200);
  CHECK(ask(client, get("/jobs?error=50%")).status == 200);
}

TEST_CASE("web: a request that comes byte by byte is one") {
  Host host(with_web());
  SocketClient client = host.connect("web");
  const std::string request = post("/api/v1/jobs", kJob);
  for (std::size_t i = 0; i + 1 < request.size(); ++i) client.send(request.substr(i, 1));
  CHECK(ask(client, request.substr(request.size() - 1)).status == 201);
  CHECK(ask(client, get("/health")).status == 200);
}

TEST_CASE("web: a body that comes byte by byte is one, also after its head was answered") {
  Host host(with_web());
  SocketClient client = host.connect("web");
  const std::string request = post("/api/v1/jobs", kJob);
  const std::size_t head_bytes = request.find("\r\n\r\n") + 4;
  client.send(request.substr(0, head_bytes));
  host.settle_turns();
  CHECK(client.read_available().empty());
  for (std::size_t i = head_bytes; i < request.size(); ++i) client.send(request.substr(i, 1));
  CHECK(read_answer(client).status == 201);
  client.send(request + get("/health"));
  CHECK(read_answer(client).status == 201);
  CHECK(read_answer(client).status == 200);
}

TEST_CASE("web: who is slow with a request holds no thread") {
  Host host(with_web());
  std::vector<SocketClient> slow;
  const std::string request = post("/api/v1/jobs", kJob);
  for (std::size_t i = 0; i < 2 * kWebThreads; ++i) {
    slow.push_back(host.connect("web"));
    slow.back().send(request.substr(0, i % 2 == 0 ? 20 : request.size() - 1));
  }
  const auto took = time_of([&] { CHECK(ask(host, get("/health")).status == 200); });
  CHECK(took < std::chrono::seconds(2));
  CHECK(ask(slow.back(), request.substr(request.size() - 1)).status == 201);
}

TEST_CASE("web: when there is no more room, who was idle for longest goes") {
  Host host(with_web());
  std::vector<SocketClient> idle;
  for (std::size_t i = 0; i < kWebConnectionsMax; ++i) idle.push_back(host.connect("web"));
  CHECK(ask(idle.front(), get("/health")).status == 200);
  const auto took = time_of([&] { CHECK(ask(host, get("/health")).status == 200); });
  CHECK(took < std::chrono::seconds(2));
  CHECK(idle[1].is_closed_by_server());
  CHECK(ask(idle[2], get("/health")).status == 200);
  CHECK(ask(idle.front(), get("/health")).status == 200);
}

TEST_CASE("web: when there is no more room, who is slow with a head goes before a body") {
  Host host(with_web());
  const std::string request = post("/api/v1/jobs", kJob);
  SocketClient sending = host.connect("web");
  sending.send(request.substr(0, request.size() - 1));
  std::vector<SocketClient> slow;
  for (std::size_t i = 1; i < kWebConnectionsMax; ++i) {
    slow.push_back(host.connect("web"));
    slow.back().send("GET /health");
  }
  const auto took = time_of([&] { CHECK(ask(host, get("/health")).status == 200); });
  CHECK(took < std::chrono::seconds(2));
  CHECK(ask(sending, request.substr(request.size() - 1)).status == 201);
}

TEST_CASE("web: when all are slow with a body, who began first goes") {
  Host host(with_web());
  const std::string request = post("/api/v1/jobs", kJob);
  std::vector<SocketClient> slow;
  for (std::size_t i = 0; i < kWebConnectionsMax; ++i) {
    slow.push_back(host.connect("web"));
    slow.back().send(request.substr(0, request.size() - 1));
    if (i == 0) CHECK(slow.front().read_some(100ms).empty());  // it is ahead
  }
  const auto took = time_of([&] { CHECK(ask(host, get("/health")).status == 200); });
  CHECK(took < std::chrono::seconds(2));
  CHECK(slow.front().is_closed_by_server());
  CHECK(ask(slow.back(), request.substr(request.size() - 1)).status == 201);
}

TEST_CASE("web: who is slow with a body byte by byte makes room too") {
  Host host(with_web());
  const std::string request = post("/api/v1/jobs", std::string(5000, ' '));
  std::vector<SocketClient> slow;
  for (std::size_t i = 0; i < kWebConnectionsMax; ++i) {
    slow.push_back(host.connect("web"));
    slow.back().send(request.substr(0, request.size() - 4000));
  }
  const auto drip_until = std::chrono::steady_clock::now() + kWebGrace;
  while (std::chrono::steady_clock::now() < drip_until) {
    CHECK(slow.front().read_some(100ms).empty());
    for (SocketClient& each : slow) each.send(" ");
  }
  const auto took = time_of([&] { CHECK(ask(host, get("/health")).status == 200); });
  CHECK(took < std::chrono::seconds(1));
}

TEST_CASE("web: refused clients that stay connected make room too") {
  Host host(with_web());
  std::vector<SocketClient> refused;
  for (std::size_t i = 0; i < kWebConnectionsMax; ++i) {
    refused.push_back(host.connect("web"));
    refused.back().send("POST /api/v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n");
  }
  for (SocketClient& each : refused) REQUIRE(read_answer(each).status == 415);
  const auto took = time_of([&] { CHECK(ask(host, get("/health")).status == 200); });
  CHECK(took < 2 * kWebGrace);
}

TEST_CASE("web: more browsers than there is room for are answered when they come at once") {
  Host host(with_web());
  std::vector<SocketClient> many;
  for (std::size_t i = 0; i < 2 * kWebConnectionsMax; ++i) many.push_back(host.connect("web"));
  for (SocketClient& each : many) each.send(get("/health", "Connection: close\r\n"));
  for (SocketClient& each : many) REQUIRE(read_answer(each).status == 200);
}

TEST_CASE("web: who does not read an answer holds no thread, and gets it later") {
  Host host(with_web());
  std::vector<SocketClient> slow;
  std::string many;
  for (int i = 0; i < 400; ++i) many += get("/api/v1/openapi.json");
  for (std::size_t i = 0; i < 2 * kWebThreads; ++i) {
    slow.push_back(host.connect("web"));
    slow.back().send(many);
  }
  const auto took = time_of([&] { CHECK(ask(host, get("/health")).status == 200); });
  CHECK(took < std::chrono::seconds(2));
  const std::size_t bytes = read_answer(slow.back()).body.size();
  CHECK(bytes > 50'000);
  for (int i = 1; i < 400; ++i) REQUIRE(read_answer(slow.back()).body.size() == bytes);
}

TEST_CASE("web: who waits to be told to continue is told once") {
  Host host(with_web());
  SocketClient client = host.connect("web");
  std::string request = post("/api/v1/jobs", kJob);
  const std::size_t head_bytes = request.find("\r\n\r\n");
  request.insert(head_bytes, "\r\nExpect: 100-continue");
  const std::size_t body_at = request.size() - kJob.size();
  constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
  client.send(request.substr(0, body_at));
  CHECK(client.read(kGoOn.size()) == kGoOn);
  CHECK(ask(client, request.substr(body_at)).status == 201);
}

TEST_CASE("web: what cannot be read is answered by 400, and the connection closed") {
  Host host(with_web());
  for (const char* request : {"NONSENSE\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\r\n\r\n",
                              "GET /\r\n\r\n", "\xff\xfe\x00\x01\r\n\r\n"}) {
    SocketClient client = host.connect("web");
    client.send(std::string(request) + get("/health"));
    const Answer answer = read_answer(client);
    CHECK_MESSAGE((answer.status == 400 || answer.status == 0), request);
    CHECK_MESSAGE(client.is_closed_by_server(), request);
  }
}

TEST_CASE("web: a head that another reader might take otherwise ends the connection") {
  Host host(with_web());
  const std::string head =
      "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  for (const char* headers :
       {"Content-Length: 29\r\nContent-Length: 5\r\n",
        "Content-Length: 29\r\nHost: a\r\nHost: b\r\n", "Content-Length: 29\r\nHost : a\r\n",
        "Content-Length: 29\r\nX: a\r\n b\r\n",
        "Content-Length: 29\r\nX: a\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 29\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 29\r\nno header\r\n", "Content-Length: 29\r\nX: \x01\r\n"}) {
    SocketClient client = host.connect("web");
    const Answer answer = ask(client, head + headers + "\r\n" + std::string(kJob));
    CHECK_MESSAGE(answer.status == 400, headers);
    CHECK_MESSAGE(answer.head.find("Connection: close") != std::string::npos, headers);
    CHECK_MESSAGE(client.is_closed_by_server(), headers);
  }
  CHECK(ask(host, get("/health", "Cookie: a\r\nCookie: b\r\n")).status == 200);
}

TEST_CASE("web: a body that is refused unread is not taken for a request") {
  Host host(with_web());
  SocketClient client = host.connect("web");
  const std::string smuggled = get("/health");
  const Answer answer = ask(client, "POST /api/v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: " +
                                        std::to_string(smuggled.size()) + "\r\n\r\n" + smuggled);
  CHECK(answer.status == 415);
  CHECK(answer.head.find("Connection: close") != std::string::npos);
  CHECK(client.is_closed_by_server());
}

TEST_CASE("web: an answer arrives though much of the body was still to come") {
  Host host(with_web());
  SocketClient client = host.connect("web");
  client.send("POST /api/v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n");
  client.send_what_fits(std::string(3'000'000, 'x'), std::chrono::milliseconds(300));
  CHECK(read_answer(client).status == 415);
}

TEST_CASE("web: a head beyond its limit ends the connection") {
  Host host(with_web());
  SocketClient client = host.connect("web");
  const std::string filler(4000, 'a');
  std::string request = "GET /health HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 20; ++i) request += "X-" + std::to_string(i) + ": " + filler + "\r\n";
  client.send_what_fits(request + "\r\n", std::chrono::milliseconds(200));
  const Answer answer = read_answer(client);
  CHECK(answer.status == 431);
  CHECK(answer.body.find("65536") != std::string::npos);
  CHECK(client.is_closed_by_server());
}

TEST_CASE("web: a line of the head up to its limit is read, and one beyond is called too long") {
  Host host(with_web());
  const auto line_of = [](std::size_t bytes) {
    return "X: " + std::string(bytes - std::string_view("X: \r\n").size(), 'a') + "\r\n";
  };
  CHECK(ask(host, get("/health", line_of(8192))).status == 200);
  SocketClient client = host.connect("web");
  const Answer answer = ask(client, get("/health", line_of(8193)));
  CHECK(answer.status == 431);
  CHECK(answer.body.find("8192") != std::string::npos);
  CHECK(client.is_closed_by_server());
}

TEST_CASE("web: a request must say whom it is for") {
  Host host(with_web());
  const Answer answer = ask(host, get("/health", "", ""));
  CHECK(answer.status == 400);
  CHECK(answer.body.find("no Host") != std::string::npos);
  CHECK(ask(host, "GET /health HTTP/1.0\r\n\r\n").status == 200);
}

TEST_CASE("web: a body beyond its limit, or of unknown length, is refused by its head") {
  Host host(with_web());
  const std::string head =
      "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  const Answer big = ask(host, head + "Content-Length: 2000000000\r\n\r\n");
  CHECK(big.status == 413);
  CHECK(big.body.find("the body is longer than ") != std::string::npos);
  CHECK(ask(host, head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n").status == 411);
  CHECK(ask(host, head + "Content-Length: 1x\r\n\r\n").status == 400);
}

TEST_CASE("web: a line of the address beyond its limit is refused") {
  Host host(with_web());
  const Answer answer = ask(host, get("/" + std::string(8200, 'a')));
  CHECK((answer.status == 400 || answer.status == 414));
  CHECK(answer.body.find("8192") != std::string::npos);
}

TEST_CASE("web: an address longer than a head may be is refused too") {
  Host host(with_web());
  SocketClient client = host.connect("web");
  client.send_what_fits(get("/" + std::string(70'000, 'a')), std::chrono::milliseconds(200));
  CHECK(read_answer(client).status == 431);
  CHECK(client.is_closed_by_server());
}

TEST_CASE("web: only a pushed job may be long") {
  Host host(with_web());
  CHECK(ask(host, post("/api/v1/jobs/change", std::string(65'537, ' '))).status == 413);
  const std::string args(65'537, 'a');
  CHECK(ask(host, post("/api/v1/jobs", R"({"jobtype":"A","args":[")" + args + R"("]})")).status ==
        201);
}

TEST_CASE("web: a part that is asked for is answered by the whole") {
  Host host(with_web());
  const Answer whole = ask(host, get("/assets/app.js"));
  const Answer part = ask(host, get("/assets/app.js", "Range: bytes=0-10\r\n"));
  CHECK(part.status == 200);
  CHECK(part.body == whole.body);
  CHECK(part.head.find("Accept-Ranges: none") != std::string::npos);
}

TEST_CASE("web: a name that could be turned to us is refused") {
  Host::Setup setup = with_web();
  setup.options.web_hosts = {"jobs.example"};
  Host host(std::move(setup));
  CHECK(ask(host, get("/api/v1/overview", "", "Host: evil.example\r\n")).status == 403);
  CHECK(ask(host, get("/api/v1/overview", "", "Host: jobs.example\r\n")).status == 200);
}

// ---- wrong passwords ----------------------------------------------------------------------------

TEST_CASE("web: a wrong password ends the connection, none at all does not") {
  Host host(with_web("right"));
  SocketClient client = host.connect("web");
  CHECK(ask(client, get("/stats")).status == 401);
  CHECK(ask(client, get("/stats", kRight)).status == 200);
  client.send(get("/stats", kWrong) + get("/stats", kRight));
  CHECK(read_answer(client).status == 401);
  CHECK(client.is_closed_by_server());
}

TEST_CASE("web: after some wrong passwords their address waits, and the right one gets in") {
  Host host(with_web("right"));
  SocketClient known = host.connect("web");
  CHECK(ask(known, get("/stats", kRight)).status == 200);
  for (std::uint32_t i = 0; i <= faktory::kFreeFailures; ++i) {
    CHECK(ask(host, get("/stats", kWrong)).status == 401);
  }
  const auto took = time_of([&] { CHECK(ask(host, get("/stats", kRight)).status == 200); });
  CHECK(took >= std::chrono::milliseconds(90));
  // Who has shown the password before on this connection does not wait.
  CHECK(ask(known, get("/stats", kRight)).status == 200);
}

TEST_CASE("web: passwords that are tried all at once wait, and hold no thread meanwhile") {
  constexpr std::size_t kAtOnce = 60;
  Host host(with_web("right"));
  SocketClient known = host.connect("web");
  CHECK(ask(known, get("/stats", kRight)).status == 200);
  std::vector<SocketClient> tries;
  for (std::size_t i = 0; i < kAtOnce; ++i) tries.push_back(host.connect("web"));
  const auto took = time_of([&] {
    for (SocketClient& each : tries) each.send(get("/stats", kWrong));
    // All threads are free for others.
    CHECK(ask(known, get("/stats", kRight)).status == 200);
    for (SocketClient& each : tries) CHECK(read_answer(each).status == 401);
  });
  // The last of about 53 waits for 0.1 s times their square root.
  CHECK(took >= std::chrono::milliseconds(500));
}

/// A server whose disk does nothing by itself.
struct SlowDisk {
  explicit SlowDisk(std::unique_ptr<FakeJournal> owned = std::make_unique<FakeJournal>())
      : disk(*owned), host(setup(std::move(owned))) {}

  static Host::Setup setup(std::unique_ptr<FakeJournal> journal) {
    Host::Setup setup = with_web();
    setup.journal = std::move(journal);
    return setup;
  }

  FakeJournal& disk;
  Host host;
};

// ---- the gate -----------------------------------------------------------------------------------

TEST_CASE("web: a change is answered when it is durable, a read at once") {
  SlowDisk slow;
  FakeJournal& disk = slow.disk;
  Host& host = slow.host;
  SocketClient client = host.connect("web");
  client.send(post("/api/v1/jobs", kJob));
  while (disk.end() == 0) host.settle_turns();
  CHECK(client.read_available().empty());
  CHECK(ask(host, get("/api/v1/jobs/1")).status == 200);
  CHECK(client.read_available().empty());
  disk.make_durable(disk.end());
  CHECK(read_answer(client).status == 201);
}

TEST_CASE("web: changes that wait for the disk hold up changes, and nobody who looks") {
  SlowDisk slow;
  FakeJournal& disk = slow.disk;
  Host& host = slow.host;
  std::vector<SocketClient> clients;
  for (std::size_t i = 0; i < kWebThreads + 2; ++i) {
    clients.push_back(host.connect("web"));
    clients.back().send(post("/api/v1/jobs", kJob));
  }
  const auto has_jobs = [&](std::size_t count) {
    const std::string body = ask(host, get("/api/v1/jobs/count?state=ready")).body;
    return body.find("\"matched\":" + std::to_string(count) + ",") != std::string::npos;
  };
  while (!has_jobs(kWebChangesMax)) host.settle_turns();
  CHECK(ask(host, get("/health")).status == 200);
  clients.push_back(host.connect("web"));
  clients.back().send(get("/health") + post("/api/v1/jobs", kJob));
  CHECK(read_answer(clients.back()).status == 200);
  CHECK(has_jobs(kWebChangesMax));
  while (!has_jobs(clients.size())) disk.make_durable(disk.end());
  disk.make_durable(disk.end());
  for (SocketClient& each : clients) CHECK(read_answer(each).status == 201);
}

TEST_CASE("web: a read says when it was, and in which life of the server") {
  Host host(with_web());
  SocketClient client = host.connect("web");
  CHECK(ask(client, post("/api/v1/jobs", kJob)).status == 201);
  const Answer answer = ask(client, get("/api/v1/jobs/count"));
  CHECK(answer.head.find("\r\nX-As-Of: 2.") != std::string::npos);
  const std::size_t instance = answer.head.find("\r\nX-Instance: ");
  REQUIRE(instance != std::string::npos);
  CHECK(ask(host, get("/api/v1/queues")).head.find(answer.head.substr(instance, 30)) !=
        std::string::npos);
  CHECK(answer.head.find("timeout=15,") != std::string::npos);
}

TEST_CASE("web: while stopping health is 503, reads are answered and changes refused") {
  SlowDisk slow;
  FakeJournal& disk = slow.disk;
  Host& host = slow.host;
  SocketClient worker = host.connect("beanstalk");
  worker.send("put 0 0 60 1\r\nx\r\n");
  while (disk.end() == 0) host.settle_turns();
  host.on_loop([&] { host.server().stop(); });
  CHECK(ask(host, get("/health")).status == 503);
  CHECK(ask(host, get("/api/v1/overview")).status == 200);
  CHECK(ask(host, post("/api/v1/jobs", kJob)).status == 503);
  disk.make_durable(disk.end());
  host.settle_turns();
  host.stop();
  CHECK(worker.read(12) == "INSERTED 1\r\n");
}

TEST_CASE("web: a change that waits for the disk is answered when the server has stopped") {
  SlowDisk slow;
  FakeJournal& disk = slow.disk;
  Host& host = slow.host;
  SocketClient client = host.connect("web");
  client.send(post("/api/v1/jobs", kJob));
  while (disk.end() == 0) host.settle_turns();
  host.stop();
  CHECK(read_answer(client).status == 201);
  CHECK(client.is_closed_by_server());
}

}  // namespace millrace::server
