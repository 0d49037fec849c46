#include "server/web/web_stream.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "http/kit/guard.hpp"
#include "http/kit/head.hpp"

namespace millrace::server {

namespace {
constexpr std::size_t kRequestReadBytes = 16 * 1024;
}  // namespace

WebStream::WebStream(int descriptor, std::unique_ptr<TlsStream> tls)
    : descriptor_(descriptor), tls_(std::move(tls)) {}

WebStream::~WebStream() {
  finish();
  ::close(descriptor_);
}

void WebStream::finish() {
  if (std::exchange(is_finished_, true)) return;
  if (tls_) {
    tls_->finish();
    const std::string_view last = tls_->pending();
    // A client that does not read the last TLS record at once can do without it.
    [[maybe_unused]] const ssize_t sent =
        ::send(descriptor_, last.data(), last.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  ::shutdown(descriptor_, SHUT_WR);
}

bool WebStream::discard_input() {
  char bytes[kRequestReadBytes];
  const ssize_t received = ::recv(descriptor_, bytes, sizeof bytes, MSG_DONTWAIT);
  return received > 0 || (received < 0 && (errno == EAGAIN || errno == EINTR));
}

void WebStream::begin(Steady::time_point until, std::size_t bytes_max) {
  until_ = until;
  allowed_ = bytes_max;
}

bool WebStream::wait_for(short events) const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - Steady::now());
  pollfd watched{.fd = descriptor_, .events = events, .revents = 0};
  return left.count() > 0 && ::poll(&watched, 1, static_cast<int>(left.count())) == 1;
}

bool WebStream::is_readable() const {
  return has_input() || wait_for(POLLIN);
}

bool WebStream::is_writable() const {
  return true;  // `write` keeps the bytes that the socket does not take
}

bool WebStream::receive() {
  input_.erase(0, taken_);
  taken_ = 0;
  while (!has_request()) {
    const Arrival arrival = take_arrived();
    if (arrival == Arrival::kNone) return true;
    if (arrival == Arrival::kOver) return false;
  }
  if (!awaits_body()) make_head_plain();
  return true;
}

/// The library takes no other one.
void WebStream::make_head_plain() {
  const auto bytes = http::head_bytes(input_);
  if (bytes) input_.replace(0, *bytes, http::plain_head(input_.substr(0, *bytes)));
}

bool WebStream::has_request() const {
  if (awaits_body()) return unread_bytes() >= awaited_;
  const std::string_view rest = std::string_view(input_).substr(taken_);
  return rest.size() >= http::kHeaderBytesMax || http::head_bytes(rest);
}

bool WebStream::is_asked_by(std::string_view method) const {
  const std::string_view rest = std::string_view(input_).substr(taken_);
  return rest.starts_with(method) && rest.substr(method.size()).starts_with(' ');
}

bool WebStream::mark() {
  request_at_ = taken_;
  return std::exchange(awaited_, 0) > 0;
}

void WebStream::end_request() {
  input_.erase(0, taken_);
  taken_ = request_at_ = 0;
  if (input_.capacity() > kPipelinedBytesMax) input_.shrink_to_fit();
  share_.reset();
}

void WebStream::rewind(std::size_t request_bytes) {
  CHECK(request_at_ <= taken_ && request_bytes > unread_bytes());
  taken_ = request_at_;
  awaited_ = request_bytes;
}

WebStream::Arrival WebStream::take_arrived() {
  char bytes[kRequestReadBytes];
  const ssize_t received = ::recv(descriptor_, bytes, sizeof bytes, MSG_DONTWAIT);
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) return Arrival::kNone;
  if (received <= 0) return Arrival::kOver;
  const std::string_view arrived(bytes, static_cast<std::size_t>(received));
  if (!tls_) {
    input_ += arrived;
    return Arrival::kSome;
  }
  const std::size_t before = input_.size();
  bool is_good = tls_->receive(arrived, input_);
  while (is_good && tls_->has_unread()) is_good = tls_->receive({}, input_);
  if (!flush() || !is_good) return Arrival::kOver;
  return input_.size() == before && tls_->is_input_over() ? Arrival::kOver : Arrival::kSome;
}

/// Waits for input. False: the time is over, or the connection has ended.
bool WebStream::fill() {
  while (!has_input()) {
    if (!wait_for(POLLIN) || take_arrived() == Arrival::kOver) return false;
  }
  return true;
}

ssize_t WebStream::read(char* bytes, std::size_t size) {
  if (allowed_ == 0) return -1;
  if (!has_input() && !fill()) return -1;
  const std::size_t count = std::min({size, input_.size() - taken_, allowed_});
  std::memcpy(bytes, input_.data() + taken_, count);
  taken_ += count;
  allowed_ -= count;
  return static_cast<ssize_t>(count);
}

std::string_view WebStream::output() const {
  return tls_ ? tls_->pending() : std::string_view(output_).substr(sent_);
}

bool WebStream::flush() {
  while (has_output()) {
    const std::string_view rest = output();
    const ssize_t sent = ::send(descriptor_, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    if (tls_) {
      tls_->consume(static_cast<std::size_t>(sent));
    } else {
      sent_ += static_cast<std::size_t>(sent);
    }
  }
  output_.clear();
  sent_ = 0;
  return true;
}

ssize_t WebStream::write(const char* bytes, std::size_t size) {
  CHECK(!is_finished_);
  if (is_muted_) return static_cast<ssize_t>(size);
  std::string_view rest(bytes, size);
  if (!tls_) {
    output_ += rest;
    return flush() ? static_cast<ssize_t>(size) : -1;
  }
  if (!tls_->is_open()) return -1;
  while (!rest.empty()) {
    tls_->write(rest.substr(0, kTlsWriteBytes));
    rest.remove_prefix(std::min(rest.size(), kTlsWriteBytes));
    if (!flush()) return -1;
  }
  return static_cast<ssize_t>(size);
}

// No handler uses the addresses of a request.
void WebStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

void WebStream::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace millrace::server
