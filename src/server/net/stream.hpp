#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/net/tls.hpp"
#include "server/turn/link.hpp"

namespace asio {
class io_context;
}

namespace millrace::server {

/// How much is received at a time, at most.
inline constexpr std::size_t kReceiveBytes = kInputShareBytes;

/// What arrives for a stream that waits for it, before more is asked for: most commands are
/// shorter.
inline constexpr std::size_t kFirstBytes = 256;

/// What is received is written here. One for all connections, since each hands it on at once.
struct ReceiveBuffer {
  std::vector<char> arrived = std::vector<char>(kReceiveBytes);
  std::string decrypted;
};

/// The bytes of a connected socket, in both directions, never waiting. Encryption, if there is any,
/// does not show. What it waits for is told by a handler of the `asio::io_context`.
class Stream {
 public:
  /// Who is told. Each of these may be told in vain.
  class Owner {
   public:
    virtual ~Owner() = default;
    /// `receive` has something: bytes, the end or an error.
    virtual void on_input() = 0;
    /// `send` may take more: it was full.
    virtual void on_room() = 0;
  };

  /// The descriptor becomes ours. `tls`: null for a port without encryption.
  Stream(asio::io_context& context, int descriptor, std::unique_ptr<TlsStream> tls);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Waits for input and tells `owner`, until `stop`. False when the system has no room for another
  /// socket to wait for.
  [[nodiscard]] bool begin(Owner& owner);
  void stop();

  struct Received {
    std::string_view bytes;    ///< valid until the next call for any stream
    bool is_in_place = false;  ///< valid until `await_input`
    bool is_nothing = false;   ///< nothing had arrived
    bool is_end = false;       ///< after these bytes the client sends nothing more
    bool is_empty = false;     ///< nothing is left to receive, but for the end if it has come
    bool is_failed = false;    ///< after these bytes the connection is broken
    bool has_opened = false;   ///< `send` may take more now
  };

  /// What has arrived, once, and no more than `bytes_max` of it (at least `kFirstBytes`, at most
  /// `kReceiveBytes`; of what is encrypted, a record is given whole).
  [[nodiscard]] Received receive(ReceiveBuffer& buffer, std::size_t bytes_max);

  /// The same, as it arrived: encrypted or not.
  [[nodiscard]] Received receive_raw(ReceiveBuffer& buffer, std::size_t bytes_max);

  /// All was received: tells when there is more. Best called when the client has its answer: it
  /// may have sent something by then.
  void await_input();

  /// Encryption is agreed on, if there is any.
  [[nodiscard]] bool is_open() const { return !tls_ || tls_->is_open(); }

  /// The client is known to send nothing more after what is there.
  [[nodiscard]] bool has_end() const;

  /// The connection is known to be broken. For one that is not received from: tells when it breaks.
  [[nodiscard]] bool is_broken() const;
  void await_break();

  /// Offers `bytes` to the system, and answers how many of the first of them it took; nullopt when
  /// nothing can be sent any more. The others must be offered again, in front of further ones:
  /// they may be encrypted already.
  [[nodiscard]] std::optional<std::size_t> send(std::string_view bytes);

  /// The system had no room for all, and there was none since.
  [[nodiscard]] bool is_full() const;

  /// Tells the client that nothing more comes. All was sent.
  void shut_down();

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  class Wire;

  void decrypt(ReceiveBuffer& buffer, Received& received);
  [[nodiscard]] std::optional<std::size_t> send_plain(std::string_view bytes);
  [[nodiscard]] std::optional<std::size_t> send_encrypted(std::string_view bytes);
  [[nodiscard]] bool send_pending();

  const int descriptor_;
  const std::shared_ptr<Wire> wire_;  ///< shared with handlers that have not run yet
  std::unique_ptr<TlsStream> tls_;
  std::size_t encrypted_bytes_ = 0;  ///< of what was offered, that `tls_` has still to send
};

}  // namespace millrace::server
