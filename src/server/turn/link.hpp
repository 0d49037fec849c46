#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/model/types.hpp"

/// A client's connection has two halves. The socket half moves bytes and knows no session; the
/// session half executes commands and knows no socket. What passes between them are plain values,
/// so tests and the simulation replace either half, and socket halves can run on other threads.
namespace millrace::server {

/// How much a client sends, at most, before the others have their turn.
inline constexpr std::size_t kInputShareBytes = 32 * 1024;

/// The session half, as the socket half sees it.
class SessionHalf {
 public:
  virtual ~SessionHalf() = default;

  /// The client is connected. Called once, first.
  virtual void start() = 0;

  /// How much this client may send in one go, in this turn. 0: it waits for the next turn, since
  /// others have brought so much in this one; of those that wait, the first to wait is served
  /// first.
  [[nodiscard]] virtual std::size_t input_share() = 0;

  /// Whether this client sends little and gets short replies, so that it is served in each turn.
  [[nodiscard]] virtual bool is_brief() const = 0;

  /// Input has arrived. True: `receive` may be called now. False: the session half calls
  /// `SocketHalf::read_on` as soon as that may have changed.
  [[nodiscard]] virtual bool offer_input() = 0;

  /// The client sent these bytes.
  virtual void receive(std::string_view bytes) = 0;

  /// The client sends nothing more. Called once.
  virtual void end_input() = 0;

  /// The system took so many further bytes of the output.
  virtual void sent(std::size_t bytes) = 0;

  /// The socket may take output again, after it could not.
  virtual void has_room() = 0;

  /// Nothing more reaches the client. Called again, it does nothing; nothing else is called after
  /// it. `is_broken`: the client or the network has ended the connection, and not this server.
  virtual void close(bool is_broken) noexcept = 0;
};

/// The socket half, as the session half sees it. Each of these may call `SessionHalf::close`.
class SocketHalf {
 public:
  virtual ~SocketHalf() = default;

  /// Whether there is room for further output. One `give` may exceed it.
  [[nodiscard]] virtual bool takes_output() const = 0;

  /// Takes output that may leave once everything before `lsn` is durable, after all that was given
  /// before. Leaves `bytes` empty, with a small buffer that can be used again.
  virtual void give(std::string& bytes, Lsn lsn) = 0;

  /// Everything before `durable` is durable: sends what may leave. True when more of the output
  /// waits for the disk.
  virtual bool send_durable(Lsn durable) = 0;

  /// Input is taken again.
  virtual void read_on() = 0;

  /// All output was sent and no more comes: ends the connection so that the client gets all of it.
  virtual void finish() = 0;

  /// Ends the connection at once.
  virtual void drop() = 0;
};

}  // namespace millrace::server
