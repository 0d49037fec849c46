#include "server/web/web_response.hpp"

#include <zlib.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "http/kit/guard.hpp"
#include "http/kit/text.hpp"

namespace millrace::server {
namespace {

/// Shown to clients only: the port has no such limit.
constexpr std::size_t kKeptRequests = 1'000'000;

/// All that is answered here. The words are for people.
constexpr std::string_view kStatusLines =
    "200 OK\r\n201 Created\r\n202 Accepted\r\n204 No Content\r\n304 Not Modified\r\n"
    "303 See Other\r\n307 Temporary Redirect\r\n400 Bad Request\r\n401 Unauthorized\r\n403 "
    "Forbidden\r\n"
    "404 Not Found\r\n405 Method Not Allowed\r\n408 Request Timeout\r\n409 Conflict\r\n"
    "411 Length Required\r\n413 Payload Too Large\r\n414 URI Too Long\r\n"
    "415 Unsupported Media Type\r\n429 Too Many Requests\r\n"
    "431 Request Header Fields Too Large\r\n500 Internal Server Error\r\n"
    "503 Service Unavailable\r\n505 HTTP Version Not Supported\r\n";

std::string status_line(int status) {
  const std::string number = http::concat(status, " ");
  const std::size_t at = kStatusLines.find(number);
  if (at == kStatusLines.npos) return number + "\r\n";
  return std::string(kStatusLines.substr(at, kStatusLines.find('\n', at) + 1 - at));
}

/// True when `If-None-Match`, a list, has the tag. A proxy that compresses marks it as weak.
bool names_tag(std::string_view list, std::string_view tag) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    std::string_view each = trimmed(list.substr(0, end));
    if (each.starts_with("W/")) each.remove_prefix(2);
    if (each == tag || each == "*") return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

/// An answer that the browser already has is not sent again. The browser must not store it: our own
/// script keeps the answer in memory, with its tag.
void add_tag(const http::Request& request, http::Response& response) {
  if (response.status != 200 || http::is_change(request)) return;
  Fnv1a hash;
  hash.add(response.body);
  const std::string tag = '"' + hex(hash.value()) + '"';
  if (names_tag(request.header("if-none-match"), tag)) {
    response.status = 304;
    response.body.clear();
  }
  response.headers["ETag"] = tag;
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

void compress(http::Response& response) {
  if (response.body.size() < kGzipBytesMin || !is_text(response.type)) return;
  auto packed = gzip(response.body);
  if (!packed) return;
  response.body = std::move(*packed);
  response.headers["Content-Encoding"] = "gzip";
  response.headers["Vary"] = "Accept-Encoding";
}

}  // namespace

std::string render(const http::Head& head, http::Response response, bool stays_open) {
  if (response.write_body) response.body = response.write_body();
  add_tag(head.request, response);
  if (head.takes_gzip) compress(response);
  http::harden(response);
  std::string text = "HTTP/1.1 " + status_line(response.status) + "Accept-Ranges: none\r\n";
  text += stays_open ? http::concat("Keep-Alive: timeout=", kWebIdleMax.count(),
                                    ", max=", kKeptRequests, "\r\n")
                     : "Connection: close\r\n";
  text += http::concat("Content-Type: ", response.type,
                       "\r\nContent-Length: ", response.body.size(), "\r\n");
  for (const auto& [name, value] : response.headers) {
    text += http::concat(name, ": ", value, "\r\n");
  }
  text += "\r\n";
  if (head.request.method != "HEAD") text += response.body;
  return text;
}

}  // namespace millrace::server
