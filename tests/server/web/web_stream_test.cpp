#include "server/web/web_stream.hpp"

#include <string>

#include "server/web/web_client.hpp"
#include "support/doctest.hpp"

namespace millrace::server {

TEST_CASE("web stream: a connection carries many requests, even if they are sent at once") {
  RunningServer running(with_web());
  SocketClient client = running.connect("web");
  CHECK(ask(client, get("/health")).status == 200);
  client.send(get("/health") + get("/api/v1/overview") + get("/nothing/there.js"));
  CHECK(read_answer(client).body.find("serving") != std::string::npos);
  CHECK(read_answer(client).body.find("attention") != std::string::npos);
  CHECK(read_answer(client).status == 200);
}

TEST_CASE("web stream: a request that arrives byte by byte is answered once") {
  RunningServer running(with_web());
  SocketClient client = running.connect("web");
  const std::string request = post("/api/v1/jobs", kJob);
  for (std::size_t i = 0; i + 1 < request.size(); ++i) client.send(request.substr(i, 1));
  CHECK(ask(client, request.substr(request.size() - 1)).status == 201);
  CHECK(ask(client, get("/health")).status == 200);
}

TEST_CASE("web stream: a body that arrives byte by byte belongs to its request") {
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

}  // namespace millrace::server
