#include "server/web/web_engine.hpp"

#include <zlib.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>
#include <variant>

#include "base/number.hpp"
#include "base/text.hpp"
#include "http/kit/head.hpp"
#include "http/kit/text.hpp"

namespace millrace::server {
namespace {

/// Shown to clients only: the port has no such limit.
constexpr std::size_t kKeptRequests = 1'000'000;
constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";

/// The words after the number, of all that is answered here. They are for people.
std::string_view reason_of(int status) {
  struct Row {
    int status;
    std::string_view reason;
  };
  constexpr Row kRows[] = {{200, "OK"},
                           {201, "Created"},
                           {202, "Accepted"},
                           {204, "No Content"},
                           {304, "Not Modified"},
                           {307, "Temporary Redirect"},
                           {400, "Bad Request"},
                           {401, "Unauthorized"},
                           {403, "Forbidden"},
                           {404, "Not Found"},
                           {405, "Method Not Allowed"},
                           {408, "Request Timeout"},
                           {409, "Conflict"},
                           {411, "Length Required"},
                           {413, "Payload Too Large"},
                           {414, "URI Too Long"},
                           {415, "Unsupported Media Type"},
                           {429, "Too Many Requests"},
                           {431, "Request Header Fields Too Large"},
                           {500, "Internal Server Error"},
                           {503, "Service Unavailable"},
                           {505, "HTTP Version Not Supported"}};
  for (const Row& row : kRows) {
    if (row.status == status) return row.reason;
  }
  return {};
}

/// A shorter answer is sent in one packet anyway.
constexpr std::size_t kGzipBytesMin = 1024;

bool is_text(std::string_view type) {
  constexpr std::string_view kTexts[] = {"text/", "application/json", "image/svg+xml"};
  return std::any_of(std::begin(kTexts), std::end(kTexts),
                     [type](std::string_view each) { return type.starts_with(each); });
}

/// nullopt: no memory.
std::optional<std::string> gzip(std::string_view text) {
  constexpr int kGzip = 16;  // added to the size of the window
  constexpr int kMemoryLevel = 8;
  z_stream stream{};
  if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
    return std::nullopt;
  }
  std::string packed(::deflateBound(&stream, text.size()), '\0');
  // The library does not write there.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool is_done = ::deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return is_done ? std::optional(std::move(packed)) : std::nullopt;
}

/// For a client that takes gzip.
void compress(http::Response& response) {
  if (response.body.size() < kGzipBytesMin || !is_text(response.type)) return;
  auto packed = gzip(response.body);
  if (!packed) return;
  response.body = std::move(*packed);
  response.headers["Content-Encoding"] = "gzip";
  response.headers["Vary"] = "Accept-Encoding";
}

enum class Writes { kAll, kHeadOnly };

std::string write_response(http::Response response, Writes what, bool stays_open) {
  http::harden(response);
  std::string text = http::concat("HTTP/1.1 ", response.status, " ", reason_of(response.status),
                                  "\r\nAccept-Ranges: none\r\n");
  text += stays_open ? http::concat("Keep-Alive: timeout=", kWebIdleMax.count(),
                                    ", max=", kKeptRequests, "\r\n")
                     : "Connection: close\r\n";
  text += http::concat("Content-Type: ", response.type,
                       "\r\nContent-Length: ", response.body.size(), "\r\n");
  for (const auto& [name, value] : response.headers) {
    text += http::concat(name, ": ", value, "\r\n");
  }
  text += "\r\n";
  if (what == Writes::kAll) text += response.body;
  return text;
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

/// The head that the input begins with, or the answer to one that cannot be read.
std::variant<http::Head, http::Response> read_head(std::string_view input,
                                                   std::optional<std::size_t> head_bytes) {
  // Without an end it is longer than the limit.
  if (auto refusal = http::refuse_head(input.substr(0, head_bytes.value_or(input.size())))) {
    return std::move(*refusal);
  }
  return http::read_head(input.substr(0, *head_bytes));
}

}  // namespace

/// A request whose head has arrived.
struct WebEngine::Call {
  WebStream& stream;
  http::Request request;
  std::size_t head_bytes = 0;
  Served served = {};
  std::size_t body_bytes = 0;    ///< that belong to the request
  bool has_unread_body = false;  ///< it would be taken for the next request
};

std::string write_late_answer() {
  return write_response(http::refuse(408, "the request took too long to arrive"), Writes::kAll,
                        false);
}

WebEngine::Served WebEngine::serve(WebStream& stream) {
  const std::string_view input = stream.input();
  const auto head_bytes = http::head_bytes(input);
  auto read = read_head(input, head_bytes);
  // Nobody knows where the next request would begin, so the connection ends.
  if (auto* refusal = std::get_if<http::Response>(&read)) {
    stream.end_request(input.size());
    [[maybe_unused]] const bool is_good =
        stream.write(write_response(std::move(*refusal), Writes::kAll, false));
    return {.is_cut = true};
  }
  auto& head = std::get<http::Head>(read);
  const auto what = head.request.method == "HEAD" ? Writes::kHeadOnly : Writes::kAll;
  Call call{.stream = stream, .request = std::move(head.request), .head_bytes = *head_bytes};
  http::Response response;
  try {
    auto answered = answer(call, head.has_odd_path);
    if (!answered) return call.served;
    response = std::move(*answered);
  } catch (const std::exception&) {
    response = http::refuse(500, "the request failed in the server");
    call.has_unread_body = true;
  }
  // After a wrong password, each further guess needs a new connection.
  Served& served = call.served;
  served.is_cut = call.has_unread_body || served.login == http::Login::kWrong;
  served.can_go_on = head.stays_open && !served.is_cut;
  if (head.takes_gzip) compress(response);
  stream.end_request(call.head_bytes + call.body_bytes);
  if (!stream.write(write_response(std::move(response), what, served.can_go_on))) {
    served.can_go_on = false;
  }
  return served;
}

std::optional<http::Response> WebEngine::answer(Call& call, bool has_odd_path) {
  http::Request& request = call.request;
  call.served.login = answers_.login(request);
  call.has_unread_body =
      request.headers.contains("content-length") || request.headers.contains("transfer-encoding");
  if (has_odd_path) return http::refuse(404, "the path has a segment that is empty, . or ..");
  if (auto response = answers_.head(request)) return response;
  if (call.has_unread_body && request.method == "POST") {
    if (auto refusal = check_length(request, answers_.body_bytes_max(request))) return refusal;
    const std::size_t body_bytes = *length_of(request);
    const std::string_view rest = call.stream.input().substr(call.head_bytes);
    if (rest.size() < body_bytes) return await_body(call, body_bytes);
    request.body = rest.substr(0, body_bytes);
    call.body_bytes = body_bytes;
    call.has_unread_body = false;
  }
  return answers_.answer(std::move(request));
}

/// Called after the guard let the head pass: nobody else can make the server collect a body.
std::optional<http::Response> WebEngine::await_body(Call& call, std::size_t body_bytes) {
  std::optional<BodyRoom::Share> share = room_.take(body_bytes);
  if (!share) return http::refuse(503, "too many long requests arrive at once; try again later");
  call.stream.await_body(call.head_bytes + body_bytes, std::move(*share));
  call.served.is_arriving = true;
  if (equals_ignoring_case(call.request.header("expect"), "100-continue")) {
    // If the client has gone, the port notices.
    [[maybe_unused]] const bool is_good = call.stream.write(kGoOn);
  }
  return std::nullopt;
}

}  // namespace millrace::server
