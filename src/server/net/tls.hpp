#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace millrace::server {

/// A certificate with its key, and how we speak TLS: 1.2 or newer, clients show no certificate.
class TlsContext {
 public:
  /// From PEM files: the certificate, followed by its chain; and its key.
  [[nodiscard]] static Outcome<TlsContext> load(const std::string& certificate_file,
                                                const std::string& key_file);

  [[nodiscard]] SSL_CTX* get() const { return context_.get(); }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  explicit TlsContext(SSL_CTX* context) : context_(context) {}

  std::unique_ptr<SSL_CTX, Free> context_;
};

/// The server's end of one TLS connection, without a socket: what comes from the network goes in,
/// and what is to go there comes out.
class TlsStream {
 public:
  /// The context may go: what the stream needs of it stays.
  explicit TlsStream(const TlsContext& context);

  /// Decrypts what arrived and appends it to `plain`. False: this is no TLS, or TLS broken; what
  /// `pending` then holds tells the client so.
  [[nodiscard]] bool receive(std::string_view arrived, std::string& plain);

  /// True once the handshake is over: before, nothing can be sent.
  [[nodiscard]] bool is_open() const;

  /// True when the client said that it sends nothing more.
  [[nodiscard]] bool is_input_over() const;

  /// Encrypts it. Only when open.
  void write(std::string_view plain);

  /// Says that we send nothing more.
  void finish();

  /// What is to be sent, in order; and that its first bytes were.
  [[nodiscard]] std::string_view pending() const;
  void consume(std::size_t bytes);

 private:
  struct Free {
    void operator()(SSL* stream) const { SSL_free(stream); }
  };

  void collect();

  std::unique_ptr<SSL, Free> stream_;
  BIO* arrived_ = nullptr;  ///< both are the stream's
  BIO* leaving_ = nullptr;
  std::string pending_;
  std::size_t sent_ = 0;  ///< so much of `pending_` is gone
};

/// So much is encrypted at a time: the rest waits as plain text.
inline constexpr std::size_t kTlsWriteBytes = 64 * 1024;

}  // namespace millrace::server
