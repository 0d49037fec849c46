#include "server/web/web_client.hpp"

#include <utility>

#include "support/doctest.hpp"

namespace millrace::server {

RunningServer::Setup with_web(std::string password) {
  RunningServer::Setup setup;
  setup.options.config.web = Address{.host = "127.0.0.1", .port = 0};
  setup.options.secrets.password = std::move(password);
  return setup;
}

std::string get(std::string_view path, std::string_view headers, std::string_view host) {
  return "GET " + std::string(path) + " HTTP/1.1\r\n" + std::string(host) + std::string(headers) +
         "\r\n";
}

std::string post(std::string_view path, std::string_view body) {
  return "POST " + std::string(path) + " HTTP/1.1\r\nContent-Type: application/json\r\n" +
         std::string(kHostHeader) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

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

Answer ask(const RunningServer& running, std::string_view request) {
  SocketClient client = running.connect("web");
  return ask(client, request);
}

std::chrono::milliseconds time_of(const std::function<void()>& call) {
  const auto began = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               began);
}

}  // namespace millrace::server
