#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "core/broker/broker.hpp"
#include "core/ports/run_watch.hpp"
#include "core/ports/work_unit.hpp"
#include "http/routes/busiest_queues.hpp"
#include "http/routes/queue_view.hpp"
#include "server/lasting_problem.hpp"
#include "server/process/logging.hpp"
#include "server/statsd/statsd_options.hpp"
#include "server/statsd/statsd_report.hpp"
#include "server/statsd/statsd_sender.hpp"
#include "server/turn/ticker.hpp"

namespace millrace::server {

/// Tells statsd what happens, while this server serves. In the main loop's thread it only copies
/// numbers; `StatsdSender` does the rest. Without options, none of it costs anything.
class Statsd final : private Deadline, private RunWatch {
 public:
  struct Parts {
    Ticker& ticker;
    Broker& broker;
    const WorkUnitFormat& format;
    const Log& log;
    std::function<std::uint64_t()> connections;  ///< of clients
  };

  explicit Statsd(Parts parts) : parts_(std::move(parts)) {}
  ~Statsd() override { stop(); }
  Statsd(const Statsd&) = delete;
  Statsd& operator=(const Statsd&) = delete;

  /// From now on; nullopt: nothing is told.
  void set(std::optional<StatsdOptions> options);

  /// This server serves from now on: before, and after `stop`, nothing is told.
  void begin();
  void stop();

  /// Runs that were not told, since they were too many or statsd could not be reached.
  [[nodiscard]] std::uint64_t left_out() const { return sender_ ? sender_->left_out() : 0; }

 private:
  /// The queues that gauges are about, as far as they were found.
  struct Survey {
    http::QueueWalk walk;
    http::BusiestQueues busiest;
  };

  void expire(Time now) override;
  void on_run_ended(const Job& job, const Queue& queue, Duration took) override;
  [[nodiscard]] StatsdCounts counts() const;
  [[nodiscard]] StatsdGauges gauges(Time now) const;
  [[nodiscard]] bool survey_on(Time now);

  Parts parts_;
  std::optional<StatsdOptions> options_;
  bool is_serving_ = false;
  std::unique_ptr<StatsdSender> sender_;  ///< null: nothing is told
  StatsdRuns runs_;                       ///< since the last report
  StatsdCounts told_;                     ///< of the last report
  Time next_gauges_{};
  std::optional<Survey> survey_;
  LastingProblem problem_{{.begun = "statsd_fails", .over = "statsd_works", .gap = 5s}};
};

inline constexpr Duration kStatsdInterval = std::chrono::milliseconds(100);
inline constexpr Duration kStatsdGaugesInterval = std::chrono::seconds(30);
/// So many queues have gauges: the busiest ones.
inline constexpr std::size_t kStatsdQueuesMax = 1'000;

}  // namespace millrace::server
