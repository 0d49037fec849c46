#include "server/net/http_post.hpp"

#include <asio/completion_condition.hpp>
#include <asio/io_context.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <string_view>
#include <utility>

#include "base/number.hpp"

namespace millrace::server {
namespace {

/// `HTTP/1.1 200`
constexpr std::size_t kStatusAt = 9;
constexpr std::size_t kStatusBytes = 3;

}  // namespace

HttpPost::HttpPost(asio::io_context& context, Options options)
    : options_(std::move(options)), socket_(context), timer_(context) {
  if (options_.tls) stream_.emplace(socket_, options_.tls->open_to(options_.host));
}

template <typename Next>
auto HttpPost::step(const char* what, Next next) {
  return [self = shared_from_this(), what, next](const std::error_code& problem, std::size_t = 0) {
    if (self->is_over_) return;
    problem ? self->fail(what + (": " + problem.message())) : next();
  };
}

void HttpPost::begin(const SocketName& to) {
  timer_.expires_after(options_.time_max);
  timer_.async_wait(step("timer", [this] { fail("no answer in time"); }));
  socket_.async_connect(Socket::endpoint_type(&to.storage, to.size),
                        step("no connection", [this] { stream_ ? shake_hands() : send(socket_); }));
}

void HttpPost::end() {
  std::error_code ignored;
  is_over_ = true;
  timer_.cancel();
  socket_.close(ignored);
}

void HttpPost::fail(std::string problem) {
  problem_ = std::move(problem);
  end();
}

/// Nothing is sent to a server that is not trusted.
void HttpPost::shake_hands() {
  stream_->async_handshake(asio::ssl::stream_base::client, step("no TLS", [this] {
                             const auto checked =
                                 options_.tls->check_peer(stream_->native_handle());
                             if (checked) return send(*stream_);
                             distrust_ = checked.error().text;
                             fail(distrust_);
                           }));
}

/// Waits for the answer, since what is sent to a connection that is closed at once may be lost.
template <typename Stream>
void HttpPost::send(Stream& stream) {
  asio::async_write(stream, asio::buffer(options_.request),
                    step("the request was not sent", [this, &stream] {
                      asio::async_read(stream, asio::buffer(answer_),
                                       asio::transfer_at_least(kStatusAt + kStatusBytes),
                                       step("no answer", [this] { read_status(); }));
                    }));
}

void HttpPost::read_status() {
  const std::string_view answer(answer_.data(), kStatusAt + kStatusBytes);
  status_ = parse_number<int>(answer.substr(kStatusAt)).value_or(0);
  if (!answer.starts_with("HTTP/1.") || status_ < 100) {
    status_ = 0;
    return fail("the answer is not HTTP");
  }
  end();
}

}  // namespace millrace::server
