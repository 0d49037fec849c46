#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/broker/bulk_change.hpp"
#include "http/kit/guard.hpp"
#include "http/kit/site.hpp"
#include "http/routes/trend.hpp"
#include "server/process/clock.hpp"
#include "server/turn/ticker.hpp"
#include "server/web/web_gate.hpp"
#include "server/web/web_port.hpp"

namespace millrace::server {

/// The third door: pages, JSON and metrics by HTTP. Requests are read and answers written in
/// threads of its own; in between they are handled in the broker's thread, one at a time.
class WebDoor final : public Deadline {
 public:
  struct Parts {
    Loop& loop;
    Broker& broker;
    const WorkUnitFormat& format;
    CommitQueue& commits;
    Ticker& ticker;
    Clock& clock;
    const Log& log;
  };

  struct Options {
    http::GuardSettings guard;
    http::ServerFacts facts;
    std::string data_directory;  ///< empty: there is no journal on a disk
    std::size_t job_bytes_max = 0;
    /// Shared with the options of the server; null: no encryption.
    std::shared_ptr<const TlsContext> tls;
    std::function<http::TrafficFacts()> traffic;
    std::function<Outcome<JobId>(std::string_view json, Time now)> push;
    std::function<std::function<std::string()>(Time now, QueueSizes sizes)> info;
  };

  WebDoor(Parts parts, Options options, BoundSocket socket);
  ~WebDoor() override;

  [[nodiscard]] Outcome<Done> listen();
  [[nodiscard]] const Address& address() const { return port_.address(); }

  // In the loop's thread.

  /// Does what bulk changes have to do in this turn.
  void work(Time now);
  void expire(Time now) override;
  void show_options(std::vector<std::pair<std::string, std::string>> options);
  void reload(const std::string& password, std::shared_ptr<const TlsContext> tls /* see Options */);

  /// The loop is over, and everything is durable. Waits for the threads.
  void finish();

 private:
  [[nodiscard]] std::optional<http::Response> answer_head(const http::Request& request);
  [[nodiscard]] http::Response answer(http::Request request);
  /// What the broker's thread does of an answer in one turn.
  using Part = std::function<http::Response(Time now)>;
  [[nodiscard]] http::Response take_turn(const Part& part);
  [[nodiscard]] http::SystemFacts system_facts();
  [[nodiscard]] http::GuardSettings guard_settings();

  Parts parts_;
  std::string data_directory_;
  BulkChanges bulks_;
  http::Trend trend_;
  http::Site site_;
  bool has_bulk_work_ = false;
  WebGate gate_;

  std::mutex mutex_;  ///< of all the following, which several threads use
  http::GuardSettings guard_;
  http::SystemFacts system_;
  std::chrono::steady_clock::time_point system_read_at_{};

  WebPort port_;
};

}  // namespace millrace::server
