#include "server/web/web_connection.hpp"

#include <algorithm>
#include <exception>
#include <string_view>

#include "base/limits.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "http/kit/text.hpp"
#include "server/web/web_port.hpp"

namespace millrace::server {
namespace {

/// The guard uses differences of times only, so the steady clock is good enough.
Time now_for_guard() {
  return Time{WebConnection::Steady::now().time_since_epoch()};
}

std::optional<std::size_t> length_of(const http::Request& request) {
  return parse_number<std::size_t>(request.header("content-length"));
}

/// A body of unknown length would end with the connection, so it needs a Content-Length.
std::optional<http::Response> check_length(const http::Request& request, std::size_t bytes_max) {
  if (request.headers.contains("transfer-encoding")) {
    return http::refuse(411, "a body needs a Content-Length; chunked bodies are not supported");
  }
  const auto length = length_of(request);
  if (!length) return http::refuse(400, "Content-Length is not a number");
  if (*length <= bytes_max) return std::nullopt;
  return http::refuse(413, http::concat("the body is longer than ", bytes_max, " bytes"));
}

http::Response refuse_without_answer() {
  return http::refuse(503, "the server does not answer: it is stopping, or its disk is too slow");
}

}  // namespace

WebConnection::WebConnection(WebPort& port, Socket socket, std::unique_ptr<TlsStream> tls,
                             Peer peer)
    : port_(port),
      socket_(std::move(socket)),
      tls_(std::move(tls)),
      peer_(std::move(peer)),
      timer_(port.context()) {}

void WebConnection::start() {
  enter(Phase::kIdle, kWebIdleMax);
  set_timer();
  receive();
}

void WebConnection::end() {
  if (phase_ == Phase::kAnswering || phase_ == Phase::kRendering) return;
  if (phase_ == Phase::kSending) return enter(Phase::kSending, kWebLeaveMax);
  close();
}

void WebConnection::close() {
  if (phase_ == Phase::kClosed) return;
  asio::error_code ignored;
  if (tls_ && !is_sending_ && phase_ != Phase::kLeaving) {
    tls_->finish();
    // A client that does not read the last TLS record at once can do without it.
    socket_.write_some(asio::buffer(tls_->pending()), ignored);
  }
  phase_ = Phase::kClosed;
  timer_.cancel();
  if (turn_) port_.logins().leave(*turn_);
  free_request();
  socket_.close(ignored);
  port_.remove(*this);
}

// ---- phases and limits --------------------------------------------------------------------------

void WebConnection::enter(Phase phase, Steady::duration longest) {
  phase_ = phase;
  since_ = Steady::now();
  ends_at_ = since_ + longest;
  // Mostly the timer wakes earlier anyway: setting it for each phase would cost system calls.
  if (ends_at_ < timer_.expiry()) set_timer();
}

void WebConnection::set_timer() {
  timer_.expires_at(ends_at_);
  timer_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (error || self->phase_ == Phase::kClosed) return;
    try {
      if (self->ends_at_ <= Steady::now()) self->on_limit();
    } catch (const std::exception&) {
      self->close();  // our bug
    }
    if (self->phase_ != Phase::kClosed) self->set_timer();
  });
}

void WebConnection::on_limit() {
  switch (phase_) {
    case Phase::kHead:
    case Phase::kBody:
      if (is_sending_ || (tls_ && !tls_->is_open())) return close();
      socket_.cancel();  // what waits for input
      head_ = std::make_shared<http::Head>();
      is_last_ = true;
      return respond(http::refuse(408, "the request took too long to arrive"));
    case Phase::kDelayed:
      port_.logins().leave(*turn_);
      turn_.reset();
      return log_in();
    case Phase::kAnswering:
      return respond(refuse_without_answer());
    case Phase::kIdle:
    case Phase::kRendering:
    case Phase::kSending:
    case Phase::kLeaving:
    case Phase::kClosed:
      return close();
  }
}

std::optional<WebConnection::Place> WebConnection::gives_way() const {
  if (phase_ > Phase::kSending) return std::nullopt;
  if (phase_ == Phase::kIdle && Steady::now() < since_ + kWebGrace) return std::nullopt;
  const bool has_all = phase_ == Phase::kLeaving;
  return std::pair(phase_ == Phase::kBody && !is_open_body(),
                   has_all ? Steady::time_point::min() : since_);
}

// ---- receiving ----------------------------------------------------------------------------------

void WebConnection::wait() {
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const asio::error_code& error) {
    if (!error && self->phase_ <= Phase::kLeaving) self->receive();
  });
}

void WebConnection::receive() {
  WebPort::ReceiveBuffer& buffer = port_.receive_buffer();
  asio::error_code error;
  const std::size_t bytes = socket_.read_some(asio::buffer(buffer), error);
  if (error == asio::error::would_block || error == asio::error::interrupted) return wait();
  if (error) return close();
  // Closing a socket with unread input would also discard the last answer.
  if (phase_ == Phase::kLeaving) return wait();
  const std::string_view arrived(buffer.data(), bytes);
  if (!tls_) {
    input_ += arrived;
    return advance();
  }
  const std::size_t before = input_.size();
  bool is_good = tls_->receive(arrived, input_);
  while (is_good && tls_->has_unread()) is_good = tls_->receive({}, input_);
  const bool is_over = !is_good || (input_.size() == before && tls_->is_input_over());
  send({}, is_over ? &WebConnection::close : &WebConnection::advance);
}

/// Goes on with what has arrived.
void WebConnection::advance() {
  if (phase_ == Phase::kBody) return take_body();
  if (phase_ == Phase::kIdle && !input_.empty()) enter(Phase::kHead, kWebHeadMax);
  const bool is_whole = http::head_bytes(input_).has_value();
  if (!is_whole && input_.size() <= http::kHeaderBytesMax) return wait();
  begin_request();
}

void WebConnection::begin_request() {
  const auto bytes = http::head_bytes(input_);
  std::string head = input_.substr(0, bytes.value_or(input_.size()));
  input_.erase(0, head.size());
  if (bytes) head = http::plain_head(head);
  head_ = std::make_shared<http::Head>();  // shared: see `WebAnswers::answer`
  is_last_ = true;                         // where nobody knows where the next request would begin
  if (auto refusal = http::refuse_head(head)) return respond(std::move(*refusal));
  *head_ = http::read_head(head);
  http::Request& request = head_->request;
  request.from = peer_.address;
  request.is_encrypted = tls_ || request.header("x-forwarded-proto") == "https";
  // Of a login that was right before, no wrong one is to be feared.
  const bool is_known = is_logged_in_ && request.path != http::kLoginPath &&
                        request.header("authorization") == right_authorization_;
  const Time now = now_for_guard();
  if (is_known || !port_.logins().is_slow(peer_.id, now)) return log_in();
  turn_ = port_.logins().wait(peer_.id, now);
  if (!turn_) return close();
  enter(Phase::kDelayed, turn_->at - now);
}

void WebConnection::log_in() {
  // A hash of a password is made elsewhere.
  enter(Phase::kAnswering, kWebAnswerMax);
  // Shared: see `WebAnswers::answer`.
  const std::shared_ptr<http::Request> shared(head_, &head_->request);
  port_.answers().log_in(shared, [self = shared_from_this(), number = ++number_](auto login) {
    // Otherwise the client has run out of patience.
    if (self->phase_ != Phase::kAnswering || self->number_ != number) return;
    self->go_on_with_head(login);
  });
}

void WebConnection::go_on_with_head(http::Login login) {
  const http::Request& request = head_->request;
  if (login == http::Login::kRight) {
    is_logged_in_ = true;
    right_authorization_ = request.header("authorization");
  }
  if (login == http::Login::kWrong) port_.logins().note_failure(peer_.id, now_for_guard());
  const bool has_body =
      request.headers.contains("content-length") || request.headers.contains("transfer-encoding");
  // After a wrong password, each further guess needs a new connection. A body that is not read
  // would be taken for the next request.
  is_last_ = !head_->stays_open || login == http::Login::kWrong || has_body;
  if (head_->has_odd_path) {
    return respond(http::refuse(404, "the path has a segment that is empty, . or .."));
  }
  if (auto response = port_.answers().answer_head(request, login)) {
    return respond(std::move(*response));
  }
  return has_body && request.method == "POST" ? begin_body() : ask();
}

/// Anybody may send the fields of the form to log in.
bool WebConnection::is_open_body() const {
  return head_->request.path == http::kLoginPath;
}

/// The guard has let the head pass: nobody else can make the server collect a long body.
void WebConnection::begin_body() {
  http::Request& request = head_->request;
  if (auto refusal = check_length(request, port_.answers().body_bytes_max(request))) {
    return respond(std::move(*refusal));
  }
  missing_bytes_ = *length_of(request);
  const auto room = port_.take_body_room(missing_bytes_);
  if (!room) {
    return respond(http::refuse(503, "too many long requests arrive at once; try again later"));
  }
  room_bytes_ = *room;
  is_last_ = !head_->stays_open;
  enter(Phase::kBody, is_open_body() ? kWebHeadMax : kWebBodyMax);
  const bool is_awaited = equals_ignoring_case(request.header("expect"), "100-continue");
  if (is_awaited && input_.size() < missing_bytes_) {
    return send("HTTP/1.1 100 Continue\r\n\r\n", &WebConnection::wait);
  }
  take_body();
}

void WebConnection::take_body() {
  const std::size_t bytes = std::min(missing_bytes_, input_.size());
  head_->request.body.append(input_, 0, bytes);
  input_.erase(0, bytes);
  missing_bytes_ -= bytes;
  missing_bytes_ > 0 ? wait() : ask();
}

// ---- answering ----------------------------------------------------------------------------------

void WebConnection::ask() {
  const bool is_health = head_->request.path.starts_with("/health");
  enter(Phase::kAnswering, is_health ? kWebHealthMax : kWebAnswerMax);
  ++number_;
  // Shared: see `WebAnswers::answer`.
  const std::shared_ptr<http::Request> request(head_, &head_->request);
  port_.answers().answer(request, [self = shared_from_this(), number = number_](auto response) {
    // Otherwise the client has run out of patience.
    if (self->phase_ != Phase::kAnswering || self->number_ != number) return;
    if (response && response->is_wrong_login) {
      self->port_.logins().note_failure(self->peer_.id, now_for_guard());
      self->is_last_ = true;
    }
    self->respond(response ? std::move(*response) : refuse_without_answer());
  });
}

void WebConnection::respond(http::Response response) {
  if (port_.is_closing()) is_last_ = true;
  enter(Phase::kRendering, kWebAnswerMax);
  const bool is_long = response.write_body || response.body.size() > kWebLongBytes;
  port_.work_off(
      is_long,
      [self = shared_from_this(), head = head_, is_last = is_last_,
       response = std::move(response)]() mutable {
        self->output_ = render(*head, std::move(response), !is_last);
      },
      [self = shared_from_this()](bool is_good) {
        if (self->phase_ != Phase::kRendering) return;
        is_good ? self->send_answer() : self->close();
      });
}

void WebConnection::send_answer() {
  enter(Phase::kSending, port_.is_closing() ? kWebLeaveMax : kWebBodyMax);
  free_request();
  send(std::move(output_), &WebConnection::on_answer_sent);
}

void WebConnection::on_answer_sent() {
  if (port_.is_closing()) return close();
  if (is_last_) {
    if (tls_) tls_->finish();
    return send({}, &WebConnection::leave);
  }
  enter(Phase::kIdle, kWebIdleMax);
  if (input_.capacity() > kPipelinedBytesMax) input_.shrink_to_fit();
  advance();
}

/// All was sent. The client has some time to notice, while what it still sends is discarded.
void WebConnection::leave() {
  enter(Phase::kLeaving, kWebLeaveMax);
  asio::error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  wait();
}

void WebConnection::free_request() {
  head_.reset();
  missing_bytes_ = 0;
  port_.give_body_room(std::exchange(room_bytes_, 0));
}

// ---- sending ------------------------------------------------------------------------------------

/// Sends the text, and whatever TLS has to send. Then comes `next`.
void WebConnection::send(std::string text, Step next) {
  output_ = std::move(text);
  sent_bytes_ = 0;
  send_rest(next);
}

void WebConnection::send_rest(Step next) {
  std::string_view rest = std::string_view(output_).substr(sent_bytes_);
  if (tls_) {
    if (tls_->pending().empty() && !rest.empty()) {
      rest = rest.substr(0, kTlsWriteBytes);
      tls_->write(rest);
      sent_bytes_ += rest.size();
    }
    rest = tls_->pending();
  }
  if (rest.empty()) {
    output_ = {};
    return (this->*next)();
  }
  is_sending_ = true;
  socket_.async_write_some(
      asio::buffer(rest),
      [self = shared_from_this(), next](const asio::error_code& error, std::size_t bytes) {
        self->is_sending_ = false;
        if (self->phase_ == Phase::kClosed) return;
        if (error) return self->close();
        if (self->tls_) {
          self->tls_->consume(bytes);
        } else {
          self->sent_bytes_ += bytes;
        }
        self->send_rest(next);
      });
}

}  // namespace millrace::server
