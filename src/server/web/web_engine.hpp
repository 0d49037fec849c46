#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/kit/guard.hpp"
#include "http/kit/message.hpp"
#include "server/web/web_stream.hpp"

namespace millrace::server {

/// What becomes of requests. Called in any of the port's threads, several at a time.
struct WebAnswers {
  /// Whether the password that comes along is right.
  std::function<http::Login(const http::Request&)> login;
  /// Whether the request, of which only the head was read so far, is to be answered at once; else
  /// the body is read and `answer` called.
  std::function<std::optional<http::Response>(const http::Request&)> head;
  std::function<http::Response(http::Request)> answer;
  /// How long its body may be.
  std::function<std::size_t(const http::Request&)> body_bytes_max;
};

/// Reads one request from a connection and writes its answer: the library's parser and printer,
/// without its sockets and threads. Each thread has one of its own.
class WebEngine {
 public:
  /// `answers` outlives it.
  WebEngine(const WebAnswers& answers, std::size_t body_bytes_max);
  ~WebEngine();
  WebEngine(const WebEngine&) = delete;
  WebEngine& operator=(const WebEngine&) = delete;

  struct Served {
    bool can_go_on = false;    ///< the connection is good for another request
    bool is_arriving = false;  ///< nor was it answered: its body is still to come
    bool is_cut = false;       ///< it is not, though its other end may still send
    http::Login login = http::Login::kNone;
  };
  [[nodiscard]] Served serve(WebStream& channel);

 private:
  class Library;
  std::unique_ptr<Library> library_;
};

/// The answer to a request that did not arrive in time, as it is sent.
[[nodiscard]] std::string write_late_answer();

/// For a connection without a request.
inline constexpr auto kWebIdleMax = std::chrono::seconds(15);
/// For a request's head to arrive.
inline constexpr auto kWebHeadMax = std::chrono::seconds(5);
/// For its body to arrive, and for its answer to leave.
inline constexpr auto kWebRequestMax = std::chrono::seconds(30);

}  // namespace millrace::server
