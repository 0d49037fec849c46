#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "http/message.hpp"
#include "server/bound_socket.hpp"
#include "server/logging.hpp"
#include "server/tls.hpp"
#include "server/web_channel.hpp"

namespace millrace::server {

/// The open port of the web door and its threads: one that watches connections on which nothing
/// happens, and a few that answer requests, one at a time each. So an open browser costs no thread.
class WebPort {
 public:
  /// Called in any of the threads, several at a time. `head` says whether the request, of which
  /// only the head was read so far, is to be answered at once; else the body is read and `answer`
  /// called.
  struct Answers {
    std::function<std::optional<http::Response>(const http::Request&)> head;
    std::function<http::Response(const http::Request&)> answer;
  };

  struct Parts {
    Answers answers;
    std::size_t body_bytes_max = 0;
    /// Shared with whoever exchanges the certificate; null: no encryption.
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
  class Engine;
  struct Idle {
    std::unique_ptr<WebChannel> channel;
    WebChannel::Steady::time_point until;
  };

  void watch();
  void accept_all(std::vector<Idle>& idle);
  void take_back(std::vector<Idle>& idle);
  void hand_over(std::unique_ptr<WebChannel> channel);
  void work();
  [[nodiscard]] bool serve(WebChannel& channel);
  void wake();

  BoundSocket bound_;
  Parts parts_;
  std::unique_ptr<Engine> engine_;
  int wake_descriptor_ = -1;
  std::vector<std::thread> threads_;
  std::atomic<bool> is_closing_ = false;
  std::atomic<std::size_t> channel_count_ = 0;

  std::mutex mutex_;  ///< of all the following
  std::condition_variable has_work_;
  std::deque<std::unique_ptr<WebChannel>> ready_;
  std::vector<std::unique_ptr<WebChannel>> returned_;
  std::shared_ptr<const TlsContext> tls_;  ///< shared as in Parts
};

/// Connections at a time; further browsers wait in the system's backlog.
inline constexpr std::size_t kWebChannelsMax = 128;
inline constexpr std::size_t kWebThreads = 4;
inline constexpr auto kWebIdleMax = std::chrono::seconds(15);
/// For a request's head to arrive, since whoever is slow with it holds a thread.
inline constexpr auto kWebHeadMax = std::chrono::seconds(5);
/// For its body to arrive, and for its answer to leave.
inline constexpr auto kWebRequestMax = std::chrono::seconds(30);

}  // namespace millrace::server
