#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/net/tls.hpp"
#include "server/turn/link.hpp"

namespace millrace::server {

/// How much is received at a time, at most.
inline constexpr std::size_t kReceiveBytes = kInputShareBytes;

/// What arrives is written here. One for all connections, since each hands it on at once.
struct ReceiveBuffer {
  std::vector<char> arrived = std::vector<char>(kReceiveBytes);
  std::string decrypted;
};

/// The bytes of a connected socket, in both directions, never waiting. Encryption, if there is any,
/// does not show.
class Stream {
 public:
  /// The descriptor becomes ours. `tls`: null for a port without encryption.
  Stream(int descriptor, std::unique_ptr<TlsStream> tls);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  struct Received {
    std::string_view bytes;   ///< in the buffer
    bool is_nothing = false;  ///< nothing had arrived
    bool is_end = false;      ///< after these bytes the client sends nothing more
    bool is_empty = false;    ///< nothing is left to receive, but for the end if it has come
    bool is_failed = false;   ///< after these bytes the connection is broken
    bool has_opened = false;  ///< `send` may take more now
  };

  /// What has arrived, once, and no more than `bytes_max` of it (at most `kReceiveBytes`; of what
  /// is encrypted, a record is given whole).
  [[nodiscard]] Received receive(ReceiveBuffer& buffer, std::size_t bytes_max);

  /// The same, of bytes that nobody wants to know.
  [[nodiscard]] Received discard(ReceiveBuffer& buffer, std::size_t bytes_max);

  /// Offers `bytes` to the system, and answers how many of the first of them it took; nullopt when
  /// nothing can be sent any more. The others must be offered again, in front of further ones:
  /// they may be encrypted already.
  [[nodiscard]] std::optional<std::size_t> send(std::string_view bytes);

  /// The system had no room for all, and `has_room` was not called since.
  [[nodiscard]] bool is_full() const { return is_full_; }
  void has_room() { is_full_ = false; }

  /// Tells the client that nothing more comes. All was sent.
  void shut_down();

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  void decrypt(ReceiveBuffer& buffer, Received& received);
  [[nodiscard]] std::optional<std::size_t> send_plain(std::string_view bytes);
  [[nodiscard]] std::optional<std::size_t> send_encrypted(std::string_view bytes);
  [[nodiscard]] bool send_pending();

  int descriptor_;
  std::unique_ptr<TlsStream> tls_;
  std::size_t encrypted_bytes_ = 0;  ///< of what was offered, that `tls_` has still to send
  bool is_full_ = false;
};

}  // namespace millrace::server
