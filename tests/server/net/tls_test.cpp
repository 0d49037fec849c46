#include "server/net/tls.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "support/doctest.hpp"
#include "support/scratch.hpp"

namespace millrace::server {
namespace {

template <auto free>
struct Freed {
  template <typename T>
  void operator()(T* value) const {
    free(value);
  }
};

std::string pem(auto write) {
  const std::unique_ptr<BIO, Freed<BIO_free>> out(BIO_new(BIO_s_mem()));
  REQUIRE(write(out.get()) == 1);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

/// A certificate that was signed by its own key, made once.
const TlsContext& context() {
  static const TlsContext made = [] {
    const std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>> key(EVP_EC_gen("P-256"));
    const std::unique_ptr<X509, Freed<X509_free>> certificate(X509_new());
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
    REQUIRE(X509_set_pubkey(certificate.get(), key.get()) == 1);
    REQUIRE(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);
    const Scratch scratch;
    const std::string certificate_file = scratch.path("certificate.pem");
    const std::string key_file = scratch.path("key.pem");
    std::ofstream(certificate_file)
        << pem([&](BIO* out) { return PEM_write_bio_X509(out, certificate.get()); });
    std::ofstream(key_file) << pem([&](BIO* out) {
      return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
    auto loaded = TlsContext::load(certificate_file, key_file);
    REQUIRE_MESSAGE(loaded, loaded.error().text);
    return std::move(*loaded);
  }();
  return made;
}

/// A client of a `TlsStream`, both without a socket.
struct Pair {
  TlsStream server{context()};
  std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>> settings{SSL_CTX_new(TLS_client_method())};
  std::unique_ptr<SSL, Freed<SSL_free>> client;
  std::string plain;  ///< what the server has decrypted

  explicit Pair(int version = TLS1_3_VERSION) {
    REQUIRE(SSL_CTX_set_max_proto_version(settings.get(), version) == 1);
    client.reset(SSL_new(settings.get()));
    SSL_set_bio(client.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(client.get());
    for (int i = 0; i < 4 && !(SSL_is_init_finished(client.get()) && server.is_open()); ++i) {
      (void)SSL_do_handshake(client.get());
      REQUIRE(server.receive(sent(), plain));
      answer();
    }
    REQUIRE(SSL_do_handshake(client.get()) == 1);
    REQUIRE(server.is_open());
    read();
  }

  /// What the client has sent since.
  std::string sent() {
    std::string bytes(BIO_ctrl_pending(SSL_get_wbio(client.get())), '\0');
    if (!bytes.empty()) BIO_read(SSL_get_wbio(client.get()), bytes.data(), int(bytes.size()));
    return bytes;
  }
  /// Hands the client what the server has sent.
  void answer() {
    const std::string bytes(server.pending());
    server.consume(bytes.size());
    if (!bytes.empty()) BIO_write(SSL_get_rbio(client.get()), bytes.data(), int(bytes.size()));
  }
  std::string read() {
    std::string bytes(1 << 16, '\0');
    const int size = SSL_read(client.get(), bytes.data(), int(bytes.size()));
    bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return bytes;
  }
  std::string record(const std::string& data) {
    REQUIRE(SSL_write(client.get(), data.data(), int(data.size())) == int(data.size()));
    return sent();
  }
  std::string key_update() {
    REQUIRE(SSL_key_update(client.get(), SSL_KEY_UPDATE_REQUESTED) == 1);
    REQUIRE(SSL_do_handshake(client.get()) == 1);
    return sent();
  }
};

TEST_CASE("tls: data is decrypted, cut at every byte") {
  Pair pair;
  std::string bytes = pair.record("hello ");
  bytes += pair.record("world");
  for (const char byte : bytes) REQUIRE(pair.server.receive({&byte, 1}, pair.plain));
  CHECK(pair.plain == "hello world");
  CHECK_FALSE(pair.server.has_unread());
}

TEST_CASE("tls: one call decrypts a limited number of records, and later ones the rest") {
  Pair pair;
  std::string bytes;
  for (std::size_t i = 0; i < 2 * kTlsRecordsPerCall + 1; ++i) bytes += pair.record("x");
  REQUIRE(pair.server.receive(bytes, pair.plain));
  CHECK(pair.plain.size() == kTlsRecordsPerCall);
  CHECK(pair.server.has_unread());
  // What arrives meanwhile comes after it.
  REQUIRE(pair.server.receive(pair.record("y"), pair.plain));
  CHECK(pair.plain.size() == 2 * kTlsRecordsPerCall);
  REQUIRE(pair.server.receive({}, pair.plain));
  CHECK(pair.plain == std::string(2 * kTlsRecordsPerCall + 1, 'x') + "y");
  CHECK_FALSE(pair.server.has_unread());
}

TEST_CASE("tls: a client that sends nothing but KeyUpdates is refused after a few") {
  Pair pair;
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += pair.key_update();
  bool is_good = pair.server.receive(bytes, pair.plain);
  while (is_good && pair.server.has_unread()) is_good = pair.server.receive({}, pair.plain);
  CHECK_FALSE(is_good);
  CHECK(pair.server.pending().size() < 8 * 1024);
  CHECK(pair.plain.empty());
}

TEST_CASE("tls: a KeyUpdate now and then between data is answered") {
  Pair pair;
  for (int i = 0; i < 200; ++i) {
    REQUIRE(pair.server.receive(pair.key_update(), pair.plain));
    for (int j = 0; j < 4; ++j) {
      REQUIRE(pair.server.receive(pair.record(std::string(16 * 1024, 'x')), pair.plain));
    }
    pair.server.write("reply");
    pair.answer();
    CHECK(pair.read() == "reply");
  }
  CHECK(pair.plain.size() == 200 * 64 * 1024);
}

TEST_CASE("tls: KeyUpdates with little data between them are refused too") {
  Pair pair;
  bool is_good = true;
  int count = 0;
  while (is_good && ++count < 1000) {
    std::string bytes = pair.key_update();
    bytes += pair.record("x");
    is_good = pair.server.receive(bytes, pair.plain);
  }
  CHECK(count <= static_cast<int>(kIdleRecordsMax) + 1);
}

TEST_CASE("tls: a client that asks for renegotiation again and again is refused") {
  Pair pair(TLS1_2_VERSION);
  bool is_good = true;
  int count = 0;
  while (is_good && ++count < 1000) {
    // The client keeps its keys, and its request goes out whether the last was refused or not.
    if (SSL_renegotiate(pair.client.get()) != 1) break;
    (void)SSL_do_handshake(pair.client.get());
    const std::string bytes = pair.sent();
    if (bytes.empty()) break;
    is_good = pair.server.receive(bytes, pair.plain);
    pair.answer();
  }
  CHECK(count <= static_cast<int>(kIdleRecordsMax) + 1);
  CHECK(pair.server.pending().size() < 8 * 1024);
}

TEST_CASE("tls: what is no TLS is refused at once") {
  TlsStream server{context()};
  std::string plain;
  CHECK_FALSE(server.receive("GET / HTTP/1.1\r\n\r\n", plain));
  CHECK(plain.empty());
}

}  // namespace
}  // namespace millrace::server
