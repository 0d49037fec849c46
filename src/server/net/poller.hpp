#pragma once

#include <sys/epoll.h>

#include <array>
#include <asio/posix/basic_stream_descriptor.hpp>
#include <cstddef>
#include <vector>

#include "server/net/loop.hpp"

namespace millrace::server {

/// What the system said about a socket.
struct SocketEvents {
  bool is_readable = false;  ///< there is something to receive: bytes, the end or an error
  bool is_writable = false;  ///< there is room again, after there was none
  bool is_over = false;      ///< the client sends nothing more; what it sent may still be there
  bool is_broken = false;    ///< nothing can be sent any more
};

/// One who has a socket.
class Pollee {
 public:
  virtual ~Pollee() = default;

  /// Something happened. Told once: what is not received now is still there, but not told again.
  virtual void on_events(SocketEvents events) = 0;

  /// It is its turn again.
  virtual void on_turn() = 0;

 private:
  friend class Poller;
  bool has_turn_ = false;
};

/// Tells connections what happens on their sockets.
///
/// It has an epoll set of its own, edge-triggered, and Asio waits for that set alone. A wait for
/// one socket costs Asio a system call, a handler and a look at its queues, each time; here the set
/// is told of a socket once, when the client comes, and one wait serves all who have something.
class Poller {
 public:
  explicit Poller(Loop& loop);
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  /// `pollee` is told what happens on the socket, and first what it has already. Until `forget`.
  /// False when the system has no room for another one.
  [[nodiscard]] bool watch(int descriptor, Pollee& pollee);

  /// `pollee` is told nothing any more, and the socket may be closed.
  void forget(int descriptor, Pollee& pollee);

  /// `pollee.on_turn()` is called soon, behind what else is ready.
  void give_turn(Pollee& pollee);

 private:
  /// How much is learnt at a time; then others have their turn.
  static constexpr std::size_t kEvents = 256;

  void wait();
  void serve_events();
  void serve_turns();

  Loop& loop_;
  asio::posix::basic_stream_descriptor<Executor> set_;
  std::array<epoll_event, kEvents> events_{};
  std::size_t events_end_ = 0;
  std::vector<Pollee*> turns_;    ///< null: forgotten meanwhile
  std::vector<Pollee*> serving_;  ///< those of `turns_` at work, likewise
};

}  // namespace millrace::server
