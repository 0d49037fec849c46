#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "server/running_server.hpp"

namespace millrace::server {

/// Options of a server with a web port.
[[nodiscard]] RunningServer::Setup with_web(std::string password = "");

inline constexpr std::string_view kHostHeader = "Host: localhost\r\n";

/// A GET request as it is sent.
[[nodiscard]] std::string get(std::string_view path, std::string_view headers = "",
                              std::string_view host = kHostHeader);

/// A POST request with a JSON body, as it is sent.
[[nodiscard]] std::string post(std::string_view path, std::string_view body);

/// A body that pushes a job.
inline constexpr std::string_view kJob = R"({"jobtype":"Mail","args":[]})";

struct Answer {
  int status = 0;  ///< 0: the server closed the connection, or no answer came
  std::string head;
  std::string body;
};

/// Reads one answer, whose length its head has.
[[nodiscard]] Answer read_answer(SocketClient& client);

/// Sends the request and reads its answer.
[[nodiscard]] Answer ask(SocketClient& client, std::string_view request);
/// The same on a connection of its own.
[[nodiscard]] Answer ask(const RunningServer& running, std::string_view request);

[[nodiscard]] std::chrono::milliseconds time_of(const std::function<void()>& call);

/// A server whose disk makes nothing durable by itself.
struct SlowDisk {
  explicit SlowDisk(std::unique_ptr<FakeJournal> owned = std::make_unique<FakeJournal>())
      : disk(*owned), running(setup(std::move(owned))) {
    // That the server has started is a record, too.
    while (disk.end() == 0) running.settle_turns();
    start = disk.end();
  }
  /// Until something more is recorded.
  void await_record() {
    while (disk.end() == start) running.settle_turns();
  }

  static RunningServer::Setup setup(std::unique_ptr<FakeJournal> journal) {
    RunningServer::Setup setup = with_web();
    setup.journal = std::move(journal);
    return setup;
  }

  FakeJournal& disk;
  RunningServer running;
  Lsn start = 0;  ///< the end of the log before the test
};

}  // namespace millrace::server
