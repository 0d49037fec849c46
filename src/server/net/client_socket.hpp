#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/ports/session.hpp"
#include "server/net/connection_state.hpp"
#include "server/net/outbox.hpp"
#include "server/net/stream.hpp"
#include "server/turn/link.hpp"

namespace millrace::server {

class IoThread;

/// A session is told of sent bytes when they are so many, or when it is told something else.
inline constexpr std::size_t kSentBytesUntold = 1024;

/// The socket half of a client's connection: hands on what arrives, and sends output once it is
/// durable. While nothing happens it holds no buffer.
class ClientSocket final : private Stream::Owner {
 public:
  /// The descriptor becomes ours. `tls`: null on a port without encryption.
  ClientSocket(int descriptor, std::unique_ptr<TlsStream> tls)
      : descriptor_(descriptor), tls_(std::move(tls)) {}
  /// Only before `open` or when it is closed.
  ~ClientSocket() override;

  /// Its session is that one. Before `open`.
  void serve(ClientSession& session) { session_ = &session; }

  /// Its session has that read what arrives first. Before `open`.
  void read_ahead(std::unique_ptr<ReadAhead> ahead) { ahead_ = std::move(ahead); }

  /// From now on it belongs to that thread, as all other calls do.
  void open(IoThread& thread);

  void obey(Order& order);

  // What it asked the thread for.
  void send_again();
  void receive_again() { look_for_input(); }
  void await_input();

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  void on_input() override;
  void on_room() override;
  [[nodiscard]] bool is_serving() const;
  void look_for_input();
  void receive();
  void hand_on(const Stream::Received& received);
  void drain();
  void read_on();
  void hold();
  void send();
  [[nodiscard]] bool send_covered(Lsn answerable);
  void await_sending(Lsn answerable);
  [[nodiscard]] Arrival& tell();
  void move(ConnectionEvent event);
  void finish();
  void close(ConnectionEvent event, bool is_broken);

  const int descriptor_;
  std::unique_ptr<TlsStream> tls_;  ///< before `open`
  std::optional<Stream> stream_;    ///< since then
  IoThread* thread_ = nullptr;
  ClientSession* session_ = nullptr;
  std::unique_ptr<ReadAhead> ahead_;  ///< null: nothing does
  ConnectionState state_ = ConnectionState::kOpen;
  bool is_handed_on_ = false;  ///< the session has not taken the input that was handed on last
  bool has_input_ = false;     ///< as far as the stream has told
  bool is_listed_ = false;     ///< the thread is to send again
  bool has_told_over_ = false;
  bool is_told_full_ = false;
  Order::Then ending_ = Order::Then::kNothing;  ///< what was ordered for when all is sent
  std::string input_;                           ///< what was handed on, if it is longer
  std::size_t untold_bytes_ = 0;                ///< that were sent
  Outbox outbox_;
};

}  // namespace millrace::server
