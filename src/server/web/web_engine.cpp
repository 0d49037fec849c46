#include "server/web/web_engine.hpp"

#include <algorithm>
#include <utility>

#include "base/number.hpp"
#include "base/text.hpp"
#include "http/kit/head.hpp"
#include "http/kit/text.hpp"

namespace millrace::server {
namespace {

/// Shown to clients only. The port has no such limit.
constexpr std::size_t kKeptRequests = 1'000'000;

http::Request read_request(const httplib::Request& from) {
  http::Request request;
  request.method = from.method;
  request.from = from.remote_addr;
  request.path = from.path;
  request.has_broken_escape = http::has_broken_escape(from.target);
  for (const auto& [name, value] : from.headers) {
    request.headers.emplace(lower_case(name), value);
  }
  request.params.insert(from.params.begin(), from.params.end());
  request.prefix = http::clean_prefix(request.header("x-script-name"));
  if (!request.prefix.empty() && request.path.starts_with(request.prefix + "/")) {
    request.path.erase(0, request.prefix.size());
  }
  return request;
}

std::optional<std::size_t> length_of(const http::Request& request) {
  return parse_number<std::size_t>(request.header("content-length"));
}

void fill_response(http::Response&& from, httplib::Response& to) {
  http::harden(from);
  to.status = from.status;
  for (const auto& [name, value] : from.headers) to.set_header(name, value);
  to.set_header("Accept-Ranges", "none");
  to.set_content(std::move(from.body), from.type);
}

/// True when the library refuses the head because of a long line.
bool has_long_line(std::string_view head) {
  while (!head.empty()) {
    const std::size_t line_bytes = std::min(head.find('\n'), head.size() - 1) + 1;
    if (line_bytes > CPPHTTPLIB_HEADER_MAX_LENGTH) return true;
    head.remove_prefix(line_bytes);
  }
  return false;
}

/// The text for requests that the library refuses without a text.
http::Response refuse_unread(int status, const WebStream& stream) {
  if (!stream.may_read()) {
    return http::refuse(431,
                        http::concat("the head is longer than ", http::kHeaderBytesMax, " bytes"));
  }
  if (status == 414) {
    return http::refuse(414, http::concat("the address is longer than ",
                                          CPPHTTPLIB_REQUEST_URI_MAX_LENGTH, " bytes"));
  }
  if (status == 416) return http::refuse(416, "the Range header is malformed");
  if (status == 400 && has_long_line(stream.read_text())) {
    return http::refuse(431, http::concat("a line of the head is longer than ",
                                          CPPHTTPLIB_HEADER_MAX_LENGTH, " bytes"));
  }
  if (status == 400 && http::is_of_other_version(stream.read_text())) {
    return http::refuse(505, "this server speaks HTTP/1.0 and HTTP/1.1");
  }
  return http::refuse(status, "the request is malformed");
}

/// The last answer of a connection as bytes, written without the library.
std::string write_last(http::Response response, std::string_view reason) {
  http::harden(response);
  std::string text = http::concat("HTTP/1.1 ", response.status, " ", reason,
                                  "\r\nConnection: close\r\nContent-Type: ", response.type,
                                  "\r\nContent-Length: ", response.body.size(), "\r\n");
  for (const auto& [name, value] : response.headers) {
    text += http::concat(name, ": ", value, "\r\n");
  }
  return http::concat(text, "\r\n", response.body);
}

bool refuse_line(WebStream& stream) {
  const std::string answer =
      write_last(refuse_unread(431, stream), "Request Header Fields Too Large");
  return stream.write(answer.data(), answer.size()) >= 0;
}

}  // namespace

class WebEngine::Library : public httplib::Server {
 public:
  Library(const WebAnswers& answers, std::size_t body_bytes_max, BodyRoom& room)
      : answers_(answers), body_bytes_max_(body_bytes_max), room_(room) {
    set_payload_max_length(body_bytes_max);
    // The library only shows these to clients: the port manages the connections.
    set_keep_alive_timeout(kWebIdleMax.count());
    set_keep_alive_max_count(kKeptRequests);
    set_pre_routing_handler([this](const httplib::Request& from, httplib::Response& to) {
      return answer_head(from, to);
    });
    Post(".*", [this](const httplib::Request& from, httplib::Response& to) {
      http::Request request = read_request(from);
      request.body = from.body;
      fill_response(answers_.answer(std::move(request)), to);
    });
    // Requests that the library refuses, since they are malformed or too long. Nobody knows where
    // the next request would begin, so the connection ends.
    set_error_handler([this](const httplib::Request&, httplib::Response& to) {
      is_answered_ = true;
      if (!to.body.empty() || to.status == 304) return;
      fill_response(refuse_unread(to.status, *stream_), to);
      end_connection(to);
    });
  }

  Served serve(WebStream& stream) {
    served_ = {};
    is_answered_ = false;
    stream_ = &stream;
    const bool is_resumed = stream.mark();
    bool is_closed = false;
    const bool is_done = process_request(stream, false, is_closed, [&](httplib::Request& from) {
      from.ranges.clear();      // the answer is always the whole
      stream.mute(is_resumed);  // the client has got its 100 Continue already
      stream.begin(WebStream::Steady::now() + kWebRequestMax,
                   body_bytes_max_ + http::kHeaderBytesMax);
    });
    stream.mute(false);
    // A first line that is longer than a whole head may be: the library sends no answer.
    if (!is_done && !is_answered_ && !stream.may_read()) served_.is_cut = refuse_line(stream);
    if (served_.is_arriving) {
      stream.rewind(request_bytes_);
    } else {
      stream.end_request();
    }
    served_.can_go_on = is_done && !is_closed && !served_.is_cut && !served_.is_arriving;
    return served_;
  }

 private:
  HandlerResponse answer_head(const httplib::Request& from, httplib::Response& to) {
    is_answered_ = true;
    stream_->mute(false);
    if (const auto ambiguity = http::find_ambiguity(stream_->read_text())) {
      end_connection(to);
      fill_response(http::refuse(400, ambiguity->text), to);
      return HandlerResponse::Handled;
    }
    http::Request request = read_request(from);
    served_.login = answers_.login(request);
    std::optional<http::Response> response =
        http::has_odd_segment(from.target)
            ? http::refuse(404, "the path has a segment that is empty, . or ..")
            : answers_.head(request);
    const bool has_body =
        request.headers.contains("content-length") || request.headers.contains("transfer-encoding");
    if (!response && has_body && from.method == "POST") {
      response = check_length(request);
      if (!response) response = make_room(request);
      if (!response) return await_body(request);
    }
    if (!response) response = answers_.answer(std::move(request));
    // An unread body would be taken for the next request. After a wrong password, each further
    // guess needs a new connection.
    if (has_body || served_.login == http::Login::kWrong) end_connection(to);
    fill_response(std::move(*response), to);
    return HandlerResponse::Handled;
  }

  /// The library would read a body of unknown length until the connection ends, so it needs a
  /// Content-Length.
  std::optional<http::Response> check_length(const http::Request& request) const {
    if (request.headers.contains("transfer-encoding")) {
      return http::refuse(411, "a body needs a Content-Length; chunked bodies are not supported");
    }
    const auto length = length_of(request);
    if (!length) return http::refuse(400, "Content-Length is not a number");
    const std::size_t bytes_max = answers_.body_bytes_max(request);
    if (*length <= bytes_max) return std::nullopt;
    return http::refuse(413, http::concat("the body is longer than ", bytes_max, " bytes"));
  }

  /// For a body that has not arrived yet.
  std::optional<http::Response> make_room(const http::Request& request) {
    const std::size_t body_bytes = *length_of(request);
    if (stream_->unread_bytes() >= body_bytes) return std::nullopt;
    std::optional<BodyRoom::Share> share = room_.take(body_bytes);
    if (!share) return http::refuse(503, "too many long requests arrive at once; try again later");
    stream_->hold(std::move(*share));
    return std::nullopt;
  }

  /// Called after the guard let the head pass: nobody else can make the server collect a body.
  HandlerResponse await_body(const http::Request& request) {
    const std::size_t body_bytes = *length_of(request);
    if (stream_->unread_bytes() >= body_bytes) return HandlerResponse::Unhandled;
    served_.is_arriving = true;
    request_bytes_ = stream_->read_bytes() + body_bytes;
    stream_->mute(true);
    return HandlerResponse::Handled;
  }

  void end_connection(httplib::Response& to) {
    served_.is_cut = true;
    to.set_header("Connection", "close");
  }

  const WebAnswers& answers_;
  std::size_t body_bytes_max_;
  BodyRoom& room_;
  WebStream* stream_ = nullptr;    ///< of the request that is being served
  std::size_t request_bytes_ = 0;  ///< of one that is arriving
  Served served_;                  ///< by the request that is being served
  bool is_answered_ = false;
};

std::string write_late_answer() {
  return write_last(http::refuse(408, "the request took too long to arrive"), "Request Timeout");
}

WebEngine::WebEngine(const WebAnswers& answers, std::size_t body_bytes_max, BodyRoom& room)
    : library_(std::make_unique<Library>(answers, body_bytes_max, room)) {}

WebEngine::~WebEngine() = default;

WebEngine::Served WebEngine::serve(WebStream& stream) {
  stream.begin(WebStream::Steady::now() + kWebHeadMax, http::kHeaderBytesMax);
  return library_->serve(stream);
}

}  // namespace millrace::server
