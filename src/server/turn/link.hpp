#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/model/types.hpp"

/// A client's connection has two halves: its socket is the net's, its session the broker's. They
/// never call each other. Plain values pass between them, in two queues: see `Mailbox`.
namespace millrace::server {

class ClientSession;
class ClientSocket;

/// How much a client sends, at most, before its session has to take it.
inline constexpr std::size_t kInputShareBytes = 32 * 1024;

/// What a socket says to its session.
struct Arrival {
  ClientSession* to = nullptr;
  /// What the client sent. It stays in place, and nothing more is read, until the session orders to
  /// read on: so a connection has no more than `kInputShareBytes` in the queue.
  std::string_view input;
  /// The system took so many further bytes of the output.
  std::size_t sent_bytes = 0;
  bool is_full = false;    ///< and no more for now: the client does not read
  bool is_end = false;     ///< after `input` the client sends nothing more
  bool is_over = false;    ///< nothing more reaches the client: the session ends
  bool is_broken = false;  ///< and that is by the client or the network, not by this server
  bool is_gone = false;    ///< the last word: the socket waits to be forgotten
};

/// What a session orders its socket to do.
struct Order {
  enum class Then : std::uint8_t {
    kNothing,
    kOpen,    ///< the first order of all: the socket is the thread's from now on
    kReadOn,  ///< the input was taken: the next may come
    kHold,    ///< it was not, and will not be soon: only a broken connection is told of
    kFinish,  ///< no output follows: closes so that the client gets all of it
    kEnd,     ///< the same, without waiting for the client to close too
    kDrop,    ///< closes at once
    kForget,  ///< the answer to `Arrival::is_gone`
  };

  ClientSocket* to = nullptr;
  /// Output that may leave once everything before `lsn` is durable, after all before it.
  std::string output;
  Lsn lsn = 0;
  Then then = Then::kNothing;
};

}  // namespace millrace::server
