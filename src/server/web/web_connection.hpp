#pragma once

#include <asio/generic/stream_protocol.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "faktory/session/login_guard.hpp"
#include "http/kit/guard.hpp"
#include "http/kit/head.hpp"
#include "http/kit/message.hpp"
#include "server/net/tls.hpp"
#include "server/web/web_response.hpp"

namespace millrace::server {

/// What answers requests. Called in the port's thread, and does not wait.
class WebAnswers {
 public:
  virtual ~WebAnswers() = default;

  /// Checks the password of the request, and sets its caller. `then` is called once, in the port's
  /// thread: at once, or later.
  using LoggedIn = std::function<void(http::Login login)>;
  /// The request is shared: see `answer`.
  virtual void log_in(const std::shared_ptr<http::Request>& request, LoggedIn then) = 0;

  /// The answer to a request for which its head is enough. nullopt: its body is read, if it has
  /// one, and `answer` is called.
  [[nodiscard]] virtual std::optional<http::Response> answer_head(const http::Request& request,
                                                                  http::Login login) = 0;

  /// The limit of its body.
  [[nodiscard]] virtual std::size_t body_bytes_max(const http::Request& request) const = 0;

  /// To be called once, in the port's thread. nullopt: nobody knows the answer.
  using Then = std::function<void(std::optional<http::Response>)>;
  /// The request is shared: its client may get another answer before it was answered.
  virtual void answer(std::shared_ptr<http::Request> request, Then then) = 0;
};

class WebPort;

/// One connection of the web port, in its thread. It reads a request, has it answered, sends the
/// answer and goes on with the next request: so it never reads and sends at the same time. Shared
/// by the port and by the calls that are to come.
class WebConnection final : public std::enable_shared_from_this<WebConnection> {
 public:
  using Steady = std::chrono::steady_clock;
  using Socket = asio::generic::stream_protocol::socket;

  /// The client's machine.
  struct Peer {
    std::string id;       ///< `peer_of`
    std::string address;  ///< `shown_address`
  };

  /// `tls`: null on a port without encryption. `port` outlives it.
  WebConnection(WebPort& port, Socket socket, std::unique_ptr<TlsStream> tls, Peer peer);

  void start();

  /// At once.
  void close();

  /// When what is being answered has been answered.
  void end();

  /// Of those that may give way to a new connection, the first one in this order does: the one for
  /// whose client the server has waited longest. Allowed bodies are last, and first are those that
  /// have their last answer. nullopt: it keeps its place.
  using Place = std::pair<bool, Steady::time_point>;
  [[nodiscard]] std::optional<Place> gives_way() const;

 private:
  enum class Phase {
    // The server waits for input,
    kIdle,     ///< nothing of a request has arrived
    kHead,     ///< the head is arriving
    kBody,     ///< the head was allowed, and the body is arriving
    kLeaving,  ///< the last answer was sent; the client may still be sending
    // or for the client to read,
    kSending,  ///< the answer is being sent
    // or the client waits for the server.
    kDelayed,    ///< the head waits, since wrong passwords came from its address
    kAnswering,  ///< the request is being answered
    kRendering,  ///< the answer is being written to `output_`
    kClosed,
  };
  using Step = void (WebConnection::*)();

  void enter(Phase phase, Steady::duration longest);
  void set_timer();
  void on_limit();

  void wait();
  void receive();
  void advance();
  void begin_request();
  void log_in();
  void go_on_with_head(http::Login login);
  void begin_body();
  [[nodiscard]] bool is_open_body() const;
  void take_body();
  void ask();
  void respond(http::Response response);
  void send_answer();
  void on_answer_sent();
  void leave();
  void send(std::string text, Step next);
  void send_rest(Step next);
  void free_request();

  WebPort& port_;
  Socket socket_;
  std::unique_ptr<TlsStream> tls_;
  const Peer peer_;
  asio::steady_timer timer_;

  Phase phase_ = Phase::kIdle;
  Steady::time_point since_;    ///< when the phase began
  Steady::time_point ends_at_;  ///< its limit; the timer may wake earlier
  std::string input_;
  /// Of the request, once it was read. Shared: see `WebAnswers::answer`.
  std::shared_ptr<http::Head> head_;
  std::size_t missing_bytes_ = 0;  ///< of its body
  std::size_t room_bytes_ = 0;     ///< that its body takes of the port's room
  std::uint64_t number_ = 0;       ///< of the request
  std::string output_;
  std::size_t sent_bytes_ = 0;                     ///< of `output_`
  bool is_sending_ = false;                        ///< a write is on its way
  bool is_last_ = false;                           ///< no request follows
  bool is_logged_in_ = false;                      ///< an earlier request had the right password
  std::string right_authorization_;                ///< of that request
  std::optional<faktory::LoginGuard::Turn> turn_;  ///< set exactly in kDelayed
};

/// How long an idle connection keeps its place: a request may be on its way.
inline constexpr auto kWebGrace = std::chrono::milliseconds(10);
/// How long the head of a request may take to arrive.
inline constexpr auto kWebHeadMax = std::chrono::seconds(5);
/// How long its body may take; also how long a client may take to read an answer.
inline constexpr auto kWebBodyMax = std::chrono::seconds(30);
/// How long a client that is still sending may take to notice the last answer.
inline constexpr auto kWebLeaveMax = std::chrono::seconds(2);
/// How long a request waits for its answer. Monitoring that asks for /health does not wait long.
inline constexpr auto kWebAnswerMax = std::chrono::seconds(20);
inline constexpr auto kWebHealthMax = std::chrono::seconds(3);

}  // namespace millrace::server
