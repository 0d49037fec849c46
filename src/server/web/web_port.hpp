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

/// The open port of the web door and its threads: one that watches connections on which nothing
/// happens, and a few that answer requests, one at a time each. So an open browser costs no thread,
/// nor does one that is slow with its request or its answer, or has to wait since wrong passwords
/// came from where it is.
class WebPort {
 public:
  struct Parts {
    WebAnswers answers;
    std::size_t body_bytes_max = 0;
    /// Shared with whoever exchanges the certificate; null: no encryption,
    /// nor is there any on a unix socket.
    std::shared_ptr<const TlsContext> tls;
    const Log& log;
  };

  WebPort(BoundSocket socket, Parts parts);
  /// `join` must have been called, if `listen` was.
  ~WebPort();
  WebPort(const WebPort&) = delete;
  WebPort& operator=(const WebPort&) = delete;

  [[nodiscard]] Outcome<Done> listen();

  /// For who connects from now on.
  void set_tls(/* shared as in Parts */ std::shared_ptr<const TlsContext> tls);

  /// Lets nobody in any more; requests under way are answered. Does not wait.
  void close();

  /// Waits until everybody is gone. After `close`.
  void join();

  [[nodiscard]] const Address& address() const { return bound_.address(); }

 private:
  /// One connection, and what is known of who is at its other end.
  struct Visitor {
    std::unique_ptr<WebStream> channel;
    std::string peer;
    WebStream::Steady::time_point until;  ///< it rests; then it is over, or its turn has come
    bool knows_password = false;          ///< an earlier request brought it
    bool is_leaving = false;              ///< its last answer was written
    /// When it was first looked at for the request that is still arriving.
    std::optional<WebStream::Steady::time_point> began = {};
    std::optional<WebLogins::Turn> turn = {};  ///< set exactly while it waits for that
  };
  using Visitors = std::vector<Visitor>;

  void watch();
  [[nodiscard]] static bool send_rest(Visitor& visitor);
  [[nodiscard]] static bool is_late(const Visitor& visitor, WebStream::Steady::time_point now);
  [[nodiscard]] static bool say_late(Visitor& visitor);
  void hand_over_ready(Visitors& resting, const std::vector<pollfd>& watched);
  [[nodiscard]] static WebStream::Steady::time_point goes_at(const Visitor& visitor);
  [[nodiscard]] static Visitors::iterator find_idle(Visitors& resting);
  [[nodiscard]] WebStream::Steady::time_point has_room_at(Visitors& resting) const;
  void accept_all(Visitors& resting);
  void take_back(Visitors& resting);
  void hand_over(Visitor visitor);
  void work();
  [[nodiscard]] std::optional<Visitor> next_visitor();
  void attend(Visitor visitor, WebEngine& engine);
  [[nodiscard]] bool begin_change(Visitor& visitor);
  void end_change();
  [[nodiscard]] bool must_wait(Visitor& visitor);
  [[nodiscard]] bool serve(Visitor& visitor, WebEngine& engine);
  void let_arrive(Visitor& visitor);
  void settle(Visitor visitor, bool stays);
  void wake();

  BoundSocket bound_;
  Parts parts_;
  WebLogins logins_;
  int wake_descriptor_ = -1;
  std::vector<std::thread> threads_;
  std::atomic<bool> is_closing_ = false;
  std::atomic<std::size_t> channel_count_ = 0;

  std::mutex mutex_;  ///< of all the following
  std::condition_variable has_work_;
  std::deque<Visitor> ready_;
  Visitors returned_;
  std::size_t changes_ = 0;                ///< threads that attend to one
  std::deque<Visitor> change_waiters_;     ///< for one of those
  std::shared_ptr<const TlsContext> tls_;  ///< shared as in Parts
};

/// Connections at a time. Who comes then takes the place of the one that was idle, or in the middle
/// of a head, for longest, or else of the one whose body began to come first or who does not take
/// its answer; while there is none either, newcomers wait in the system's backlog.
inline constexpr std::size_t kWebConnectionsMax = 128;
inline constexpr std::size_t kWebThreads = 6;
/// Of them, those that may attend to changes, which wait for the disk: the others are left for who
/// only looks.
inline constexpr std::size_t kWebChangesMax = 4;
/// For a request to arrive before its sender counts as idle.
inline constexpr auto kWebGrace = std::chrono::milliseconds(500);
/// The same for a request whose head is there and was let in, but whose body is not.
inline constexpr auto kWebBodyGrace = std::chrono::milliseconds(1000);
/// For an answer to be taken before who does not take it counts as idle.
inline constexpr auto kWebTakeGrace = std::chrono::seconds(1);
/// For who still sends what nobody reads to take notice of the answer.
inline constexpr auto kWebLeaveMax = std::chrono::seconds(2);

}  // namespace millrace::server
