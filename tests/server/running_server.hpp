#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "server/client.hpp"
#include "server/fake_journal.hpp"
#include "server/manual_clock.hpp"
#include "server/server.hpp"

namespace millrace::server {

/// A whole server in a thread of its own, with both protocols on ports of its own, under a clock
/// that the test moves.
///
///     RunningServer running;
///     SocketClient client = running.connect("beanstalk");
///     CHECK(client.ask("use a\r\n", "USING a\r\n") == "USING a\r\n");
class RunningServer {
 public:
  struct Setup {
    Server::Options options = default_options();
    std::unique_ptr<Journal> journal;  ///< null: a volatile one
    bool is_clock_set = false;         ///< the test steps the clock: each second is looked at it
  };

  RunningServer() : RunningServer(Setup{}) {}
  explicit RunningServer(Setup setup);
  /// Stops the server if the test has not.
  ~RunningServer();
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  static Server::Options default_options();

  [[nodiscard]] Address address(const std::string& name) const;
  [[nodiscard]] SocketClient connect(const std::string& name) const {
    return SocketClient(address(name));
  }

  /// Runs it in the server's thread, and waits for it. Does nothing once the server has ended.
  void on_loop(const std::function<void()>& call);

  /// Waits until the server has nothing left to do, with everything read that clients sent before.
  void settle();

  /// The same, though replies may still wait for the disk.
  void settle_turns();

  /// Moves the clock from one planned thing to the next.
  void advance(Duration duration);

  [[nodiscard]] std::size_t connection_count();

  /// Waits until so many clients are connected.
  void wait_for_connections(std::size_t count);

  /// Stops the server and waits until it has ended. Time passes as fast as it can.
  void stop();

  [[nodiscard]] Server& server() { return *server_; }
  [[nodiscard]] bool has_io_threads() const { return server_->options().config.io_threads > 0; }
  [[nodiscard]] ManualClock& clock() { return clock_; }
  [[nodiscard]] const std::string& logged() const { return logged_; }

 private:
  void pass_time();
  void wait_for_sockets();

  std::string logged_;
  Log log_{[this](std::string_view line) { logged_ += line; }};
  ManualClock clock_;
  std::unique_ptr<Server> server_;
  std::vector<Server::Port> ports_;
  std::thread thread_;
  std::atomic<bool> has_ended_ = false;
};

}  // namespace millrace::server
