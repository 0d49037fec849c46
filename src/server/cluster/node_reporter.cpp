#include "server/cluster/node_reporter.hpp"

#include <array>
#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <asio/ssl/stream.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>
#include <memory>
#include <optional>
#include <system_error>

#include "http/kit/node_report.hpp"

namespace millrace::server {
namespace {

std::string write_request(const Address& leader, const NodeReporter::Signed& signed_report) {
  return "POST " + std::string(http::kReportPath) + " HTTP/1.1\r\nHost: " + leader.text() + "\r\n" +
         http::kReportHeader + ": " + signed_report.report + "\r\n" + http::kSignatureHeader +
         ": " + signed_report.signature + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}

}  // namespace

/// A report on its way.
class NodeReporter::Sending : public std::enable_shared_from_this<Sending> {
  using Socket = asio::generic::stream_protocol::socket;

  /// A handler, which goes on with `next`.
  template <typename Next>
  auto step(Next next) {
    return [self = shared_from_this(), next](const std::error_code& problem, std::size_t = 0) {
      problem || self->is_over_ ? self->end() : next();
    };
  }

 public:
  Sending(asio::io_context& context, const Address& leader, const Signed& report)
      : socket_(context),
        timer_(context),
        tls_(report.tls),
        request_(write_request(leader, report)) {
    if (tls_) stream_.emplace(socket_, tls_->open_to(leader.host));
  }

  void begin(const SocketName& to) {
    timer_.expires_after(kReportMax);
    timer_.async_wait([self = shared_from_this()](const std::error_code&) { self->end(); });
    socket_.async_connect(Socket::endpoint_type(&to.storage, to.size),
                          step([this] { tls_ ? shake_hands() : send(socket_); }));
  }

  [[nodiscard]] bool is_over() const { return is_over_; }

  /// Why the server that was reached is not trusted; empty: it is, or there was no handshake.
  [[nodiscard]] const std::string& distrust() const { return distrust_; }

  void end() {
    std::error_code ignored;
    is_over_ = true;
    timer_.cancel();
    socket_.close(ignored);
  }

 private:
  /// Nothing is sent to a server that is not trusted.
  void shake_hands() {
    stream_->async_handshake(asio::ssl::stream_base::client, step([this] {
                               const auto checked = tls_->check_peer(stream_->native_handle());
                               if (checked) return send(*stream_);
                               distrust_ = checked.error().text;
                               end();
                             }));
  }

  /// Waits for the answer, since what is sent to a connection that is closed at once may be lost.
  template <typename Stream>
  void send(Stream& stream) {
    asio::async_write(stream, asio::buffer(request_), step([this, &stream] {
                        stream.async_read_some(asio::buffer(answer_), step([this] { end(); }));
                      }));
  }

  Socket socket_;
  asio::steady_timer timer_;
  const std::shared_ptr<const TlsContext> tls_;  ///< shared: see `Signed`
  std::optional<asio::ssl::stream<Socket&>> stream_;
  const std::string request_;
  std::array<char, 256> answer_{};
  std::string distrust_;
  bool is_over_ = false;
};

NodeReporter::~NodeReporter() {
  if (sending_) sending_->end();
}

void NodeReporter::work(const std::optional<Address>& leader, Time now,
                        const std::function<Signed()>& make) {
  if (now < next_) return;
  if (sending_ && leader != leader_) sending_->end();
  if (sending_ && !sending_->is_over()) return;
  if (const auto sent = std::exchange(sending_, nullptr)) distrust_ = sent->distrust();
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
  // Shared with its handlers, which may run after its end.
  sending_ = std::make_shared<Sending>(poller_.context(), *leader_, make());
  sending_->begin(lookup_.name());
}

}  // namespace millrace::server
