#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "http/kit/guard.hpp"
#include "http/kit/message.hpp"
#include "server/web/body_room.hpp"
#include "server/web/web_stream.hpp"

namespace millrace::server {

/// The functions that answer requests. Called in the threads of the port, several at a time.
struct WebAnswers {
  /// Checks the password of the request.
  std::function<http::Login(const http::Request&)> login;
  /// The answer to a request for which its head is enough; nullopt: its body is read, and `answer`
  /// is called.
  std::function<std::optional<http::Response>(const http::Request&)> head;
  std::function<http::Response(http::Request)> answer;
  /// The limit of its body.
  std::function<std::size_t(const http::Request&)> body_bytes_max;
};

/// Reads one request from a connection and writes its answer. Each thread has its own engine.
class WebEngine {
 public:
  /// `answers` and `room` outlive it.
  WebEngine(const WebAnswers& answers, BodyRoom& room) : answers_(answers), room_(room) {}

  struct Served {
    bool can_go_on = false;    ///< the connection can have another request
    bool is_arriving = false;  ///< the request was not answered: its body is still arriving
    bool is_cut = false;       ///< the connection must end, though the client may still be sending
    http::Login login = http::Login::kNone;
  };
  /// Called when the stream has a request.
  [[nodiscard]] Served serve(WebStream& stream);

 private:
  struct Call;

  /// nullopt: the body is still arriving.
  std::optional<http::Response> answer(Call& call, bool has_odd_path);
  std::optional<http::Response> await_body(Call& call, std::size_t body_bytes);

  const WebAnswers& answers_;
  BodyRoom& room_;
};

/// The whole answer, with its head, to a request that did not arrive in time.
[[nodiscard]] std::string write_late_answer();

/// How long a connection may be idle.
inline constexpr auto kWebIdleMax = std::chrono::seconds(15);
/// How long the head of a request may take to arrive.
inline constexpr auto kWebHeadMax = std::chrono::seconds(5);
/// How long a request with a body may take to arrive; also how long a client may take to read its
/// answer.
inline constexpr auto kWebRequestMax = std::chrono::seconds(30);

}  // namespace millrace::server
