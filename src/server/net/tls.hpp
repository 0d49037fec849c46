#pragma once

#include <openssl/ssl.h>

#include <array>
#include <cstddef>
#include <cstdint>
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

  /// Without a certificate: only for `open_to`, with those of the system.
  [[nodiscard]] static TlsContext client();

  /// The other servers that share a log may speak TLS with us as clients from now on. What they
  /// show is checked with the certificates in this PEM file; empty: with those of the system.
  [[nodiscard]] Outcome<Done> trust(const std::string& ca_file);

  [[nodiscard]] SSL_CTX* get() const { return context_.get(); }

  /// A stream to the server that calls itself `host`, without a socket. Only after `trust`. Once
  /// the handshake is over, `check_peer` says whether it may be used.
  [[nodiscard]] SSL* open_to(const std::string& host) const;

  /// The peer has shown that it is that server: by a certificate that is trusted and has the name
  /// or address, or by our own certificate, which servers may share.
  [[nodiscard]] Outcome<Done> check_peer(SSL* stream) const;

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  explicit TlsContext(SSL_CTX* context) : context_(context) {}

  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL_CTX, Free> outgoing_;
};

/// The server's end of one TLS connection, without a socket: what comes from the network goes in,
/// and what is to go there comes out.
class TlsStream {
 public:
  /// The context may go: what the stream needs of it stays.
  explicit TlsStream(const TlsContext& context);

  /// Decrypts what arrived, up to `kTlsRecordsPerCall` records, and appends it to `plain`. The rest
  /// is kept: see `has_unread`. False: this is no TLS, or TLS broken, and what `pending` then holds
  /// tells the client so; or the client sends records that bring no data.
  [[nodiscard]] bool receive(std::string_view arrived, std::string& plain);

  /// Something arrived that was not decrypted yet: `receive({}, plain)` goes on with it.
  [[nodiscard]] bool has_unread() const { return !unread_.empty(); }

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

  /// The rest of a TLS record, as its header announces it (RFC 8446, section 5.1).
  struct Framing {
    std::array<std::uint8_t, 5> header{};
    std::size_t header_bytes = 0;  ///< so many of them have arrived
    std::size_t rest_bytes = 0;    ///< of the record, after its header

    /// How many of the first of `bytes` belong to the record.
    std::size_t take(std::string_view bytes);
    [[nodiscard]] bool is_at_end() const {
      return header_bytes == header.size() && rest_bytes == 0;
    }
  };

  [[nodiscard]] bool decrypt(std::string_view bytes, std::string& plain);
  void collect();

  std::unique_ptr<SSL, Free> stream_;
  BIO* arrived_ = nullptr;  ///< both are the stream's
  BIO* leaving_ = nullptr;
  std::string pending_;
  std::size_t sent_ = 0;  ///< so much of `pending_` is gone
  std::string unread_;
  Framing framing_;
  std::uint64_t idle_records_ = 0;  ///< that brought no data
  std::uint64_t plain_bytes_ = 0;
};

/// So much is encrypted at a time: the rest waits as plain text.
inline constexpr std::size_t kTlsWriteBytes = 64 * 1024;

/// A record of one byte costs about as much as one of hundreds, and 32 KiB can hold 1,400 of them.
/// A KeyUpdate costs ten times as much.
inline constexpr std::size_t kTlsRecordsPerCall = 32;

/// A client may send so many records that bring no data, and one more for each
/// `kBytesPerIdleRecord` bytes of data. A handshake takes three to five of them. Each KeyUpdate
/// costs us new keys and an answer; clients send one after gigabytes, if ever.
inline constexpr std::uint64_t kIdleRecordsMax = 64;
inline constexpr std::uint64_t kBytesPerIdleRecord = 64 * 1024;

}  // namespace millrace::server
