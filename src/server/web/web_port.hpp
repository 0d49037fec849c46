#pragma once

#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "server/net/bound_socket.hpp"
#include "server/net/tls.hpp"
#include "server/process/logging.hpp"
#include "server/web/web_engine.hpp"
#include "server/web/web_logins.hpp"
#include "server/web/web_stream.hpp"

namespace millrace::server {

/// Limit of connections; lower where descriptors are few. One more replaces a connection that got
/// its last answer, or else the one on whose client the server has waited for longest, if that is
/// at least the grace. A client whose body is arriving is replaced last. While there is nothing to
/// replace, new connections wait in the system's backlog.
inline constexpr std::size_t kWebConnectionsMax = 128;
/// The time in which no connection is replaced. It is shorter while many wait in the backlog, so
/// that a new connection, which may be a liveness probe, waits `kWebBacklogMax` at most.
inline constexpr auto kWebGrace = std::chrono::milliseconds(500);
inline constexpr auto kWebBacklogMax = std::chrono::milliseconds(100);

/// The web port with its connections and threads. One thread watches every connection on which the
/// server waits. A few threads answer requests, one request at a time each. So a connection holds
/// no thread while it is idle, sends its request or reads its answer slowly, or is delayed after
/// wrong passwords.
class WebPort {
 public:
  struct Parts {
    WebAnswers answers;
    std::size_t connections_max = 0;  ///< at most kWebConnectionsMax
    /// Shared with the owner of the certificate, who may exchange it; null: no encryption. Unix
    /// sockets are never encrypted.
    std::shared_ptr<const TlsContext> tls;
    const Log& log;
  };

  WebPort(BoundSocket socket, Parts parts);
  /// `join` must have been called, if `listen` was.
  ~WebPort();
  WebPort(const WebPort&) = delete;
  WebPort& operator=(const WebPort&) = delete;

  [[nodiscard]] Outcome<Done> listen();

  /// Sets the certificate for new connections.
  void set_tls(/* shared as in Parts */ std::shared_ptr<const TlsContext> tls);

  /// Accepts no more connections. Requests that are being answered are completed. Does not wait.
  void close();

  /// Waits until the threads have ended. After `close`.
  void join();

  [[nodiscard]] const Address& address() const { return bound_.address(); }
  [[nodiscard]] int descriptor() const { return bound_.descriptor(); }
  /// See `BoundSocket::duplicate`.
  [[nodiscard]] Outcome<BoundSocket> duplicate_socket() const { return bound_.duplicate(); }

 private:
  using TimePoint = WebStream::Steady::time_point;

  /// The reason why a connection waits. The table of limits in web_port.cpp has a row for each.
  enum class Phase {
    kIdle,         ///< no request has begun
    kArriving,     ///< a request is incomplete
    kDelayed,      ///< the request waits, since wrong passwords came from its address
    kSending,      ///< the client has not read all of the answer
    kSendingLast,  ///< the same, and the connection then ends
    kLeaving,      ///< the last answer was sent; the client may still be sending
  };
  struct Connection {
    std::unique_ptr<WebStream> stream;
    std::string peer;
    Phase phase = Phase::kIdle;
    TimePoint since = {};       ///< when the phase began
    bool was_seen = false;      ///< whether something had arrived, since it was let in
    bool is_logged_in = false;  ///< an earlier request had the right one
    /// Set exactly in kDelayed.
    std::optional<WebLogins::Turn> turn = {};
  };
  using Connections = std::vector<Connection>;
  enum class Next { kWait, kServe, kDrop };

  static void enter(Connection& connection, Phase phase);
  static void note_arriving(Connection& connection);
  [[nodiscard]] static TimePoint ends_at(const Connection& connection);
  [[nodiscard]] TimePoint makes_room_at(const Connection& connection) const;

  // In the thread that watches.
  void watch();
  void sort_out(Connections& waiting, const std::vector<pollfd>& watched);
  [[nodiscard]] static Next next_of(Connection& connection, bool has_event);
  [[nodiscard]] static Next send_rest(Connection& connection);
  [[nodiscard]] static Next refuse_late(Connection& connection);
  [[nodiscard]] Connections::iterator find_replaceable(Connections& waiting) const;
  [[nodiscard]] TimePoint has_room_at(Connections& waiting) const;
  [[nodiscard]] std::chrono::milliseconds look_for_grace() const;
  void accept_all(Connections& waiting);
  void take_returned(Connections& waiting);
  void hand_over(Connection connection);

  // In the threads that answer.
  void answer_requests();
  [[nodiscard]] std::optional<Connection> next_ready();
  void process(Connection connection, WebEngine& engine);
  [[nodiscard]] bool begin_change(Connection& connection);
  void end_change();
  [[nodiscard]] bool is_delayed(Connection& connection);
  [[nodiscard]] bool serve(Connection& connection, WebEngine& engine);
  void give_back(Connection connection, bool stays);

  void wake();

  BoundSocket bound_;
  Parts parts_;
  WebLogins logins_;
  BodyRoom body_room_;  ///< before the connections, which have shares of it
  std::chrono::milliseconds grace_ = kWebGrace;  ///< used by the thread that watches
  int wake_descriptor_ = -1;
  std::vector<std::thread> threads_;
  std::atomic<bool> is_closing_ = false;
  std::atomic<std::size_t> connection_count_ = 0;

  std::mutex mutex_;  ///< protects all the following
  std::condition_variable has_work_;
  std::deque<Connection> ready_;  ///< for the threads that answer
  Connections returned_;          ///< for the thread that watches
  std::size_t changes_ = 0;       ///< threads that process a change
  std::deque<Connection> change_waiters_;
  std::shared_ptr<const TlsContext> tls_;  ///< shared as in Parts
};

/// Threads that answer requests.
inline constexpr std::size_t kWebThreads = 6;
/// Of these, the threads that may process changes. Changes wait for the disk, so the other threads
/// are left for requests that only read.
inline constexpr std::size_t kWebChangesMax = 4;

/// How long a client that is still sending may take to notice the last answer.
inline constexpr auto kWebLeaveMax = std::chrono::seconds(2);

}  // namespace millrace::server
