#include "server/net/tls.hpp"

#include <openssl/err.h>

#include <algorithm>
#include <array>

#include "base/buffer.hpp"
#include "base/check.hpp"

namespace millrace::server {
namespace {

constexpr std::size_t kReadBytes = 16 * 1024;

/// Why OpenSSL did not like something. It forgets it with that.
std::string first_error() {
  const char* const reason = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return reason == nullptr ? "unknown" : reason;
}

int size_of(std::string_view bytes) {
  return static_cast<int>(bytes.size());
}

}  // namespace

Outcome<TlsContext> TlsContext::load(const std::string& certificate_file,
                                     const std::string& key_file) {
  TlsContext context(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* const raw = context.get();
  CHECK(raw != nullptr);
  CHECK(SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION) == 1);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Idle connections hold no buffers.
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
  if (SSL_CTX_use_certificate_chain_file(raw, certificate_file.c_str()) != 1) {
    return Problem{"cannot use certificate " + certificate_file + ": it must be PEM (" +
                   first_error() + ")"};
  }
  if (SSL_CTX_use_PrivateKey_file(raw, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return Problem{"cannot use key " + key_file + ": it must be PEM (" + first_error() + ")"};
  }
  if (SSL_CTX_check_private_key(raw) != 1) {
    return Problem{"key " + key_file + " does not fit certificate " + certificate_file};
  }
  return Outcome<TlsContext>(std::move(context));
}

TlsContext TlsContext::client() {
  TlsContext context(SSL_CTX_new(TLS_client_method()));
  CHECK(context.get() != nullptr);
  (void)context.trust({});
  return context;
}

Outcome<Done> TlsContext::trust(const std::string& ca_file) {
  outgoing_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* const raw = outgoing_.get();
  CHECK(raw != nullptr);
  CHECK(SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION) == 1);
  // What is wrong with a certificate is asked after the handshake, since ours is trusted too.
  SSL_CTX_set_verify(raw, SSL_VERIFY_NONE, nullptr);
  if (ca_file.empty()) {
    (void)SSL_CTX_set_default_verify_paths(raw);
    return Done{};
  }
  if (SSL_CTX_load_verify_file(raw, ca_file.c_str()) == 1) return Done{};
  return Problem{"cannot use the certificates " + ca_file + " of --ca: they must be PEM (" +
                 first_error() + ")"};
}

SSL* TlsContext::open_to(const std::string& host) const {
  SSL* const stream = SSL_new(outgoing_.get());
  CHECK(stream != nullptr);
  // An address stands in another place of a certificate than a name.
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(stream), host.c_str()) == 1) return stream;
  ERR_clear_error();
  (void)SSL_set_tlsext_host_name(stream, host.c_str());
  (void)SSL_set1_host(stream, host.c_str());
  return stream;
}

Outcome<Done> TlsContext::check_peer(SSL* stream) const {
  const X509* const theirs = SSL_get0_peer_certificate(stream);
  if (theirs == nullptr) return Problem{"it shows no certificate"};
  const X509* const ours = SSL_CTX_get0_certificate(context_.get());
  if (ours != nullptr && X509_cmp(ours, theirs) == 0) return Done{};
  const long verified = SSL_get_verify_result(stream);
  if (verified == X509_V_OK) return Done{};
  return Problem{std::string("its certificate is not trusted: ") +
                 X509_verify_cert_error_string(verified)};
}

TlsStream::TlsStream(const TlsContext& context)
    : stream_(SSL_new(context.get())),
      arrived_(BIO_new(BIO_s_mem())),
      leaving_(BIO_new(BIO_s_mem())) {
  CHECK(stream_ && arrived_ != nullptr && leaving_ != nullptr);
  SSL_set_bio(stream_.get(), arrived_, leaving_);
  SSL_set_accept_state(stream_.get());
}

std::size_t TlsStream::Framing::take(std::string_view bytes) {
  if (is_at_end()) header_bytes = 0;
  std::size_t taken = 0;
  while (header_bytes < header.size() && taken < bytes.size()) {
    header[header_bytes++] = static_cast<std::uint8_t>(bytes[taken++]);
    if (header_bytes == header.size()) rest_bytes = std::size_t{header[3]} << 8 | header[4];
  }
  const std::size_t rest = std::min(rest_bytes, bytes.size() - taken);
  rest_bytes -= rest;
  return taken + rest;
}

/// One record at a time: OpenSSL goes on by itself through all records that bring no data.
bool TlsStream::receive(std::string_view arrived, std::string& plain) {
  std::string kept;
  if (!unread_.empty()) {
    kept = std::move(unread_);
    kept += arrived;
    arrived = kept;
  }
  unread_ = {};
  bool is_good = true;
  for (std::size_t count = 0; is_good && !arrived.empty() && count < kTlsRecordsPerCall; ++count) {
    const std::size_t bytes = framing_.take(arrived);
    is_good = decrypt(arrived.substr(0, bytes), plain);
    arrived.remove_prefix(bytes);
  }
  if (is_good) unread_ = arrived;
  collect();
  return is_good;
}

/// Bytes of one record.
bool TlsStream::decrypt(std::string_view bytes, std::string& plain) {
  CHECK(BIO_write(arrived_, bytes.data(), size_of(bytes)) == size_of(bytes));
  std::array<char, kReadBytes> buffer;
  const std::size_t before = plain.size();
  int read = 0;
  do {
    ERR_clear_error();
    read = SSL_read(stream_.get(), buffer.data(), size_of({buffer.data(), buffer.size()}));
    if (read > 0) plain.append(buffer.data(), static_cast<std::size_t>(read));
  } while (read > 0 && SSL_pending(stream_.get()) > 0);
  if (read <= 0) {
    const int reason = SSL_get_error(stream_.get(), read);
    ERR_clear_error();
    if (reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_ZERO_RETURN) return false;
  }
  plain_bytes_ += plain.size() - before;
  if (framing_.is_at_end() && plain.size() == before) ++idle_records_;
  return idle_records_ <= kIdleRecordsMax + plain_bytes_ / kBytesPerIdleRecord;
}

bool TlsStream::is_open() const {
  return SSL_is_init_finished(stream_.get()) == 1;
}

bool TlsStream::is_input_over() const {
  return (SSL_get_shutdown(stream_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
}

void TlsStream::write(std::string_view plain) {
  CHECK(is_open());
  if (plain.empty()) return;
  // A memory BIO takes everything, so that nothing is written by half.
  CHECK(SSL_write(stream_.get(), plain.data(), size_of(plain)) == size_of(plain));
  collect();
}

void TlsStream::finish() {
  if (!is_open()) return;
  SSL_shutdown(stream_.get());
  ERR_clear_error();
  collect();
}

void TlsStream::collect() {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(leaving_, &bytes);
  if (size > 0) pending_.append(bytes, static_cast<std::size_t>(size));
  CHECK(BIO_reset(leaving_) == 1);
}

std::string_view TlsStream::pending() const {
  return std::string_view(pending_).substr(sent_);
}

void TlsStream::consume(std::size_t bytes) {
  sent_ += bytes;
  if (sent_ < pending_.size()) return;
  reset(pending_, 0);
  sent_ = 0;
}

}  // namespace millrace::server
