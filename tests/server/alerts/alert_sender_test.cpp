#include "server/alerts/alert_sender.hpp"

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read_until.hpp>
#include <asio/streambuf.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <future>
#include <string>

#include "support/doctest.hpp"

namespace millrace::server {
namespace {

using asio::ip::tcp;

/// Listens on a port of this machine.
struct HookPort {
  asio::io_context context;
  tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 0}};

  [[nodiscard]] AlertOptions receiver() const {
    AlertOptions receiver;
    receiver.address = {.host = "127.0.0.1", .port = acceptor.local_endpoint().port()};
    receiver.target = "/hook?a=1";
    receiver.secret = "secret";
    return receiver;
  }

  /// Takes a request and answers it. Its head, and its body if that came along.
  std::string answer(std::string_view text) {
    tcp::socket socket = acceptor.accept();
    asio::streambuf buffer;
    std::error_code ignored;
    asio::read_until(socket, buffer, "}", ignored);
    asio::write(socket, asio::buffer(text), ignored);
    return {static_cast<const char*>(buffer.data().data()), buffer.size()};
  }
};

constexpr AlertSender::Patience kQuick{
    .tries_max = 3, .pause = 1ms, .pause_max = 2ms, .try_max = 20s};

/// A sender, and a clock and a thread for it.
class RunningSender {
 public:
  explicit RunningSender(std::vector<AlertOptions> receivers,
                         AlertSender::Patience patience = kQuick)
      : sender_(poller_, std::move(receivers), patience) {}

  void hand_over(http::AlertMessage message) { sender_.hand_over(std::move(message)); }

  /// Until one request has come to the port, and was answered.
  std::string serve(HookPort& port, std::string_view text) {
    std::future<std::string> request =
        std::async(std::launch::async, [&port, text] { return port.answer(text); });
    while (request.wait_for(std::chrono::seconds(0)) != std::future_status::ready) go_on();
    return request.get();
  }

  http::AlertResult result() {
    for (;;) {
      auto results = sender_.take();
      if (!results.empty()) return results.front();
      go_on();
    }
  }

 private:
  void go_on() {
    sender_.work(now_);
    poller_.take(1ms);
    now_ += 50ms;
  }

  Poller poller_;
  AlertSender sender_;
  Time now_{1s};
};

http::AlertMessage hook_message() {
  return {.place = {0, 1}, .is_firing = true, .body = R"({"a":1})"};
}

}  // namespace

TEST_CASE("alert sender: a request is signed and has its body") {
  HookPort port;
  RunningSender sender({port.receiver()});
  sender.hand_over(hook_message());
  const std::string request = sender.serve(port, "HTTP/1.1 204 No Content\r\n\r\n");
  CHECK(request.starts_with("POST /hook?a=1 HTTP/1.1\r\nHost: 127.0.0.1:"));
  CHECK(request.ends_with("\r\n\r\n{\"a\":1}"));
  CHECK(request.find("\r\nContent-Length: 7\r\n") != std::string::npos);
  CHECK(request.find("\r\nMillrace-Signature: t=") != std::string::npos);
  const http::AlertResult result = sender.result();
  CHECK(result.problem.empty());
  CHECK(result.is_firing);
  CHECK(result.place.condition == 1);
}

TEST_CASE("alert sender: the signature is that of the time and the body") {
  // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac secret
  CHECK(alert_signature("secret", 1'700'000'000, R"({"a":1})") ==
        "t=1700000000,v1=49f24e537407743fa4a0242bb63b94b9a47ee99cbbe071ccd8a22550ae411686");
}

TEST_CASE("alert sender: it is tried again, so many times") {
  HookPort port;
  RunningSender sender({port.receiver()});
  sender.hand_over(hook_message());
  (void)sender.serve(port, "HTTP/1.1 503 Busy\r\n\r\n");
  (void)sender.serve(port, "nonsense that is no HTTP");
  (void)sender.serve(port, "HTTP/1.1 429 Slow down\r\n\r\n");
  const http::AlertResult result = sender.result();
  CHECK(result.tries == 3);
  CHECK(result.problem == "it answered with status 429");
}

TEST_CASE("alert sender: what is refused for good is not tried again, and no redirect followed") {
  HookPort port;
  RunningSender sender({port.receiver()});
  sender.hand_over(hook_message());
  (void)sender.serve(port, "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1/\r\n\r\n");
  CHECK(sender.result().problem == "it answered with status 301");
  sender.hand_over(hook_message());
  (void)sender.serve(port, "HTTP/1.1 404 Not Found\r\n\r\n");
  CHECK(sender.result().tries == 1);
}

TEST_CASE("alert sender: a receiver that does not answer, and one that is not there") {
  HookPort silent;
  AlertOptions nobody = silent.receiver();
  nobody.address.host = "nowhere.invalid";
  AlertSender::Patience patience = kQuick;
  patience.try_max = 20ms;
  RunningSender sender({silent.receiver(), nobody}, patience);
  sender.hand_over(hook_message());
  CHECK(sender.result().problem == "no answer in time");
  http::AlertMessage message = hook_message();
  message.place.alert = 1;
  sender.hand_over(std::move(message));
  CHECK(sender.result().tries == 3);
}

TEST_CASE("alert sender: the end waits for no receiver, and others are not held up") {
  HookPort silent;
  HookPort good;
  RunningSender sender({silent.receiver(), good.receiver()});
  for (int i = 0; i < 5; ++i) sender.hand_over(hook_message());
  http::AlertMessage message = hook_message();
  message.place.alert = 1;
  sender.hand_over(std::move(message));
  (void)sender.serve(good, "HTTP/1.1 200 OK\r\n\r\n");
  CHECK(sender.result().place.alert == 1);
}

}  // namespace millrace::server
