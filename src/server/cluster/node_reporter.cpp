#include "server/cluster/node_reporter.hpp"

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <system_error>

#include "http/kit/node_report.hpp"

namespace millrace::server {
namespace {

/// A socket that is connected, or -1.
class Connection {
 public:
  explicit Connection(const SocketName& to) {
    const auto* const name = reinterpret_cast<const sockaddr*>(&to.storage);
    descriptor_ = ::socket(name->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor_ < 0) return;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(kReportMax).count();
    const timeval longest{.tv_sec = seconds, .tv_usec = 0};
    (void)::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
    (void)::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
    is_open_ = ::connect(descriptor_, name, to.size) == 0;
  }
  ~Connection() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] bool is_open() const { return is_open_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
  bool is_open_ = false;
};

/// Waits for the answer, since what is sent to a connection that is closed at once may be lost.
void exchange_plain(int descriptor, const std::string& request) {
  std::array<char, 256> answer;
  if (::send(descriptor, request.data(), request.size(), MSG_NOSIGNAL) < 0) return;
  (void)::recv(descriptor, answer.data(), answer.size(), 0);
}

/// Nothing is sent to a server that is not trusted. Answers why it is not; empty: it is, or there
/// was no handshake.
std::string exchange_encrypted(int descriptor, const std::string& host, const TlsContext& tls,
                               const std::string& request) {
  const std::unique_ptr<SSL, decltype(&SSL_free)> stream(tls.open_to(host), &SSL_free);
  if (SSL_set_fd(stream.get(), descriptor) != 1 || SSL_connect(stream.get()) != 1) return {};
  if (const auto checked = tls.check_peer(stream.get()); !checked) return checked.error().text;
  if (SSL_write(stream.get(), request.data(), static_cast<int>(request.size())) <= 0) return {};
  std::array<char, 256> answer;
  (void)SSL_read(stream.get(), answer.data(), static_cast<int>(answer.size()));
  (void)SSL_shutdown(stream.get());
  return {};
}

std::string write_request(const Address& leader, const NodeReporter::Signed& signed_report) {
  return "POST " + std::string(http::kReportPath) + " HTTP/1.1\r\nHost: " + leader.text() + "\r\n" +
         http::kReportHeader + ": " + signed_report.report + "\r\n" + http::kSignatureHeader +
         ": " + signed_report.signature + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}

}  // namespace

bool NodeReporter::is_sending() const {
  return sending_.valid() &&
         sending_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

void NodeReporter::work(const std::optional<Address>& leader, Time now,
                        const std::function<Signed()>& make) {
  if (now < next_ || is_sending()) return;
  if (sending_.valid()) distrust_ = sending_.get();
  if (leader != leader_ || is_out_of_reach_) {
    leader_ = leader;
    is_out_of_reach_ = false;
    distrust_.clear();
    lookup_.forget();
    next_ = now + kReportInterval;
    if (!leader_) return;
    lookup_.begin(*leader_);
  }
  if (!leader_ || lookup_.state() == NameLookup::State::kAsking) return;
  const bool is_found = lookup_.state() == NameLookup::State::kFound;
  is_out_of_reach_ = !is_found || !may_reach_(lookup_.name());
  if (is_out_of_reach_) return;
  next_ = now + kReportInterval;
  try {
    const Signed made = make();
    sending_ =
        std::async(std::launch::async, [to = lookup_.name(), host = leader_->host, tls = made.tls,
                                        request = write_request(*leader_, made)] {
          const Connection connection(to);
          if (!connection.is_open()) return std::string();
          if (tls) return exchange_encrypted(connection.descriptor(), host, *tls, request);
          exchange_plain(connection.descriptor(), request);
          return std::string();
        });
  } catch (const std::system_error&) {
    // No room for a thread: the next report may have more luck.
  }
}

}  // namespace millrace::server
