#include "client/connection.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace millrace::client {
namespace {

constexpr int kConnectSeconds = 10;
/// Longer than any wait that a client asks a server for.
constexpr int kAnswerSeconds = 60;
constexpr int kGreetingSeconds = 5;
constexpr std::size_t kLineBytesMax = 64 * 1024;
constexpr std::size_t kReadBytes = 16 * 1024;
constexpr const char* kTlsAddress =
    "begins with tls:// (of a Faktory: tcp+tls://, of a Redis: rediss://)";
constexpr const char* kSpeaksNoTls =
    "; if the port has none, its address is HOST:PORT (of a Faktory: tcp://HOST:PORT, of a Redis: "
    "redis://HOST:PORT)";

/// What OpenSSL has to say of the last failure, its oldest word first.
std::string why_not(const char* otherwise) {
  const int system_error = errno;
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return system_error == 0 ? otherwise : std::strerror(system_error);
  if (ERR_GET_LIB(code) == ERR_LIB_SYS) return std::strerror(ERR_GET_REASON(code));
  const char* reason = ERR_reason_error_string(code);
  return reason == nullptr ? otherwise : reason;
}

BIO* connect_unix(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return nullptr;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return nullptr;
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return BIO_new_socket(descriptor, BIO_CLOSE);
  }
  const int problem = errno;
  close(descriptor);
  errno = problem;
  return nullptr;
}

}  // namespace

void Connection::Free::operator()(bio_st* bio) const {
  BIO_free_all(bio);
}

void Connection::Free::operator()(ssl_ctx_st* context) const {
  SSL_CTX_free(context);
}

Failure Connection::gone(const std::string& why) const {
  return {.text = "the connection to " + peer_ + " ended: " + why};
}

Failure Connection::closed() const {
  Failure failure = gone(why_not("the server has closed it"));
  if (context_ || peer_.starts_with("unix:")) return failure;
  // The alert of TLS, with which many servers answer to what is none. Others only close.
  const bool is_alert = input_.starts_with("\x15\x03");
  if (is_alert) {
    failure = gone(std::string("the port speaks TLS; its address ") + kTlsAddress);
    failure.why = "the port speaks TLS";
  } else if (!has_received_) {
    failure.text += std::string("; if the port speaks TLS, its address ") + kTlsAddress;
    failure.why = "it has closed the connection at once; it may speak TLS";
  }
  return failure;
}

Reply<Connection> Connection::open(const Target& target) {
  Connection connection;
  connection.peer_ = target.text();
  errno = 0;
  ERR_clear_error();
  const auto unreachable = [&](const std::string& why) {
    return Failure{.text = "cannot reach " + connection.peer_ + ": " + why, .why = why};
  };
  if (auto done = connection.connect(target); !done) return unreachable(done.error().text);
  if (!target.is_tls || target.is_unix) return connection;
  if (auto done = connection.encrypt(target); !done) return unreachable(done.error().text);
  return connection;
}

Reply<Done> Connection::connect(const Target& target) {
  if (target.is_unix) {
    bio_.reset(connect_unix(target.host));
    if (!bio_) return Failure{.text = why_not("no connection")};
  } else {
    bio_.reset(BIO_new_connect(target.text().c_str()));
    // OpenSSL's own loop tries again where nobody listens.
    BIO_set_nbio(bio_.get(), 1);
    while (BIO_do_connect(bio_.get()) != 1) {
      if (BIO_should_retry(bio_.get()) == 0) {
        const std::string why = why_not("no connection");
        if (is_known_host(target.host)) return Failure{.text = why};
        return Failure{.text = "the host " + target.host + " is not known"};
      }
      pollfd socket{
          .fd = static_cast<int>(BIO_get_fd(bio_.get(), nullptr)), .events = POLLOUT, .revents = 0};
      if (::poll(&socket, 1, kConnectSeconds * 1000) != 1) {
        return Failure{.text = "no connection in time"};
      }
    }
  }
  const int descriptor = static_cast<int>(BIO_get_fd(bio_.get(), nullptr));
  BIO_socket_nbio(descriptor, 0);
  const timeval patience{.tv_sec = kAnswerSeconds, .tv_usec = 0};
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  wait_at_most(kAnswerSeconds);
  if (!target.is_unix) BIO_set_tcp_ndelay(descriptor, 1);
  return Done{};
}

Reply<Done> Connection::encrypt(const Target& target) {
  context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  const bool has_roots =
      target.ca_file.empty()
          ? SSL_CTX_set_default_verify_paths(context_.get()) == 1
          : SSL_CTX_load_verify_file(context_.get(), target.ca_file.c_str()) == 1;
  if (!has_roots) {
    return Failure{.text = "the certificates of --ca cannot be read: " + target.ca_file,
                   .is_refusal = true,
                   .makes_no_sense = true};
  }
  BIO* const tls = BIO_new_ssl(context_.get(), 1);
  bio_.reset(BIO_push(tls, bio_.release()));
  SSL* ssl = nullptr;
  BIO_get_ssl(tls, &ssl);
  SSL_set_tlsext_host_name(ssl, target.host.c_str());
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(ssl);
  // An address stands in another place of a certificate than a name.
  if (X509_VERIFY_PARAM_set1_ip_asc(wanted, target.host.c_str()) != 1) {
    ERR_clear_error();
    SSL_set1_host(ssl, target.host.c_str());
  }
  if (BIO_do_handshake(bio_.get()) == 1) return Done{};
  if (const long verified = SSL_get_verify_result(ssl); verified != X509_V_OK) {
    return Failure{.text = std::string("its certificate is not trusted: ") +
                           X509_verify_cert_error_string(verified) + "; see --ca"};
  }
  return Failure{.text = "no TLS: " + why_not("the handshake failed") + kSpeaksNoTls};
}

void Connection::wait_at_most(int seconds) {
  const timeval patience{.tv_sec = seconds, .tv_usec = 0};
  setsockopt(static_cast<int>(BIO_get_fd(bio_.get(), nullptr)), SOL_SOCKET, SO_RCVTIMEO, &patience,
             sizeof patience);
}

Reply<std::string> Connection::greeting() {
  wait_at_most(kGreetingSeconds);
  Reply<std::string> line = this->line();
  wait_at_most(kAnswerSeconds);
  return line;
}

Reply<Done> Connection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    errno = 0;
    std::size_t sent = 0;
    if (BIO_write_ex(bio_.get(), bytes.data(), bytes.size(), &sent) != 1) {
      return gone(why_not("it takes nothing"));
    }
    bytes.remove_prefix(sent);
  }
  return Done{};
}

Reply<Done> Connection::receive() {
  input_.erase(0, taken_);
  taken_ = 0;
  const std::size_t before = input_.size();
  input_.resize(before + kReadBytes);
  std::size_t got = 0;
  errno = 0;
  const bool has_read = BIO_read_ex(bio_.get(), input_.data() + before, kReadBytes, &got) == 1;
  const bool is_late = BIO_should_retry(bio_.get()) != 0;
  input_.resize(before + (has_read ? got : 0));
  if (!has_read) return is_late ? gone("no answer in time") : closed();
  has_received_ = true;
  return Done{};
}

Reply<std::string> Connection::line() {
  while (true) {
    const std::size_t end = input_.find("\r\n", taken_);
    if (end != input_.npos) {
      std::string text = input_.substr(taken_, end - taken_);
      taken_ = end + 2;
      return text;
    }
    if (input_.size() - taken_ > kLineBytesMax) return gone("this is not a job server");
    if (auto received = receive(); !received) return received.error();
  }
}

Reply<std::string> Connection::body(std::size_t size) {
  while (input_.size() - taken_ < size + 2) {
    if (auto received = receive(); !received) return received.error();
  }
  std::string text = input_.substr(taken_, size);
  taken_ += size + 2;
  return text;
}

Reply<std::string> Connection::some() {
  if (taken_ == input_.size()) {
    if (auto received = receive(); !received) return received.error();
  }
  std::string bytes = input_.substr(taken_);
  taken_ = input_.size();
  return bytes;
}

}  // namespace millrace::client
