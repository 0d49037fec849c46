#include "engines/postgres/clear_login.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

namespace millrace::engines::postgres {
namespace {

using journal::uninterrupted;

constexpr std::size_t kHeadBytes = 5;  ///< the type, and the length of the rest with itself
/// libpq takes 30,000 bytes while it logs in.
constexpr std::size_t kMessageBytesMax = 32768;
constexpr std::uint32_t kAuthenticationOk = 0;
constexpr std::uint32_t kCleartextPassword = 3;

std::uint32_t word_at(const std::string& bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

bool is_request(const std::string& message, std::uint32_t kind) {
  return message.size() >= kHeadBytes + 4 && message.front() == 'R' &&
         word_at(message, kHeadBytes) == kind;
}

bool is_logging_in(const PGconn& connection) {
  const ConnStatusType status = PQstatus(&connection);
  return status == CONNECTION_SSL_STARTUP || status == CONNECTION_AWAITING_RESPONSE ||
         status == CONNECTION_AUTH_OK;
}

/// An end of our pair. The sockets that libpq opens itself go to other machines.
bool is_local_socket(int socket) {
  sockaddr_storage name{};
  socklen_t bytes = sizeof name;
  return ::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &bytes) == 0 &&
         name.ss_family == AF_UNIX;
}

}  // namespace

std::size_t ClearLogin::missing_bytes() const {
  if (awaits_tls_answer_) return 1 - message_.size();
  if (message_.size() < kHeadBytes) return kHeadBytes - message_.size();
  const std::size_t whole = 1 + std::size_t{word_at(message_, 1)};
  return whole > message_.size() ? whole - message_.size() : 0;
}

bool ClearLogin::hand_on() {
  if (!server_) return true;
  std::array<char, 4096> bytes;
  while (const std::size_t missing = missing_bytes()) {
    const ssize_t got = uninterrupted([&] {
      return ::recv(server_->get(), bytes.data(), std::min(missing, bytes.size()), MSG_DONTWAIT);
    });
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (got <= 0 || message_.size() > kMessageBytesMax) {
      hang_up();
      return true;
    }
    message_.append(bytes.data(), static_cast<std::size_t>(got));
  }
  if (is_request(message_, kCleartextPassword)) return false;
  const ssize_t sent = ::send(libpq_->get(), message_.data(), message_.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(message_.size())) hang_up();
  if (awaits_tls_answer_ && message_ != "S" && message_ != "N") hang_up();
  is_over_ = awaits_tls_answer_ ? message_ == "S" : is_request(message_, kAuthenticationOk);
  awaits_tls_answer_ = false;
  message_.clear();
  return true;
}

/// libpq finds that the server is gone.
void ClearLogin::hang_up() {
  ::shutdown(libpq_->get(), SHUT_RDWR);
}

void ClearLogin::follow(PGconn& connection) {
  if (server_ && !is_local_socket(PQsocket(&connection)))
    end();  // it has gone on to another server
  if (!server_) {
    if (PQsslInUse(&connection) != 0) return;
    if (!is_logging_in(connection)) is_over_ = false;
    if (!is_logging_in(connection) || is_over_) return;
    awaits_tls_answer_ = PQstatus(&connection) == CONNECTION_SSL_STARTUP;
    return begin(PQsocket(&connection));
  }
  std::array<char, 4096> bytes;
  ssize_t got = 0;
  while ((got = ::recv(libpq_->get(), bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0) {
    const auto size = static_cast<std::size_t>(got);
    if (::send(server_->get(), bytes.data(), size, MSG_NOSIGNAL) != got) return hang_up();
  }
  if (!is_over_) return;
  ::dup3(server_->get(), PQsocket(&connection), O_CLOEXEC);
  end();
  is_over_ = true;
}

void ClearLogin::begin(int socket) {
  std::array<int, 2> pair;
  const int kinds = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  if (::socketpair(AF_UNIX, kinds, 0, pair.data()) != 0) {
    ::shutdown(socket, SHUT_RDWR);
    return;
  }
  server_.emplace(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
  libpq_.emplace(pair[1]);
  if (!server_->is_open() || ::dup3(pair[0], socket, O_CLOEXEC) < 0) ::shutdown(socket, SHUT_RDWR);
  ::close(pair[0]);
}

void ClearLogin::end() {
  server_.reset();
  libpq_.reset();
  message_.clear();
  is_over_ = false;
}

}  // namespace millrace::engines::postgres
