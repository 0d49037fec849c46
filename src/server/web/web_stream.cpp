#include "server/web/web_stream.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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

bool WebStream::receive() {
  while (!has_request()) {
    const Arrival arrival = take_arrived();
    if (arrival == Arrival::kNone) return true;
    if (arrival == Arrival::kOver) return false;
  }
  if (!awaits_body()) make_head_plain();
  return true;
}

void WebStream::make_head_plain() {
  const auto bytes = http::head_bytes(input_);
  if (bytes) input_.replace(0, *bytes, http::plain_head(input_.substr(0, *bytes)));
}

bool WebStream::has_request() const {
  if (awaits_body()) return input_.size() >= awaited_;
  return input_.size() > http::kHeaderBytesMax || http::head_bytes(input_);
}

void WebStream::await_body(std::size_t request_bytes, BodyRoom::Share share) {
  CHECK(request_bytes > input_.size());
  awaited_ = request_bytes;
  share_ = std::move(share);
}

void WebStream::end_request(std::size_t request_bytes) {
  input_.erase(0, request_bytes);
  awaited_ = 0;
  if (input_.capacity() > kPipelinedBytesMax) input_.shrink_to_fit();
  share_.reset();
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

bool WebStream::write(std::string_view text) {
  CHECK(!is_finished_);
  if (!tls_) {
    output_ += text;
    return flush();
  }
  if (!tls_->is_open()) return false;
  while (!text.empty()) {
    tls_->write(text.substr(0, kTlsWriteBytes));
    text.remove_prefix(std::min(text.size(), kTlsWriteBytes));
    if (!flush()) return false;
  }
  return true;
}

}  // namespace millrace::server
