#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/broker/broker.hpp"
#include "core/model/types.hpp"
#include "core/ports/run_watch.hpp"
#include "core/ports/work_unit.hpp"
#include "http/routes/queue_view.hpp"
#include "server/options/tables/statsd_options.hpp"
#include "server/process/logging.hpp"
#include "server/turn/ticker.hpp"

namespace millrace::server {

/// Runs that have ended, one after the other in one text: noting one must cost little.
class StatsdRuns {
 public:
  /// What does not fit into `kStatsdRunBytesMax` is only counted.
  void add(Duration took, std::string_view queue, std::string_view jobtype);

  using Visitor =
      std::function<void(Duration took, std::string_view queue, std::string_view jobtype)>;
  void each(const Visitor& visit) const;

  [[nodiscard]] bool is_empty() const { return text_.empty() && left_out_ == 0; }
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  std::string text_;
  std::uint64_t left_out_ = 0;
};

inline constexpr std::size_t kStatsdRunBytesMax = std::size_t{1} << 20;

/// What only grows, by the names of the metrics. A server begins with what its log counts.
struct StatsdCounts {
  std::uint64_t processed = 0;
  std::uint64_t failed = 0;
  std::uint64_t expired = 0;
  std::uint64_t locks_taken = 0;
  std::uint64_t locks_denied = 0;
  std::uint64_t cron_enqueued = 0;
  std::uint64_t cron_refused = 0;
  std::uint64_t batch_callbacks = 0;

  bool operator==(const StatsdCounts&) const = default;
};

/// What is sent once in a while.
struct StatsdGauges {
  struct OfQueue {
    std::string name;
    std::uint64_t size = 0;
    double latency_s = 0;
  };
  std::vector<std::pair<const char*, std::uint64_t>> values;  ///< by the names of the metrics
  std::vector<OfQueue> queues;
  std::vector<OfQueue> latencies;  ///< those that were asked for by name
};

/// What the main loop's thread hands to the one that sends.
struct StatsdReport {
  StatsdRuns runs;
  StatsdCounts counts;  ///< up to now, not since the last report: one that is lost costs nothing
  std::optional<StatsdGauges> gauges;
};

/// A tag of one line. One with an empty value is left out.
struct StatsdTag {
  std::string_view key;
  std::string_view value;
};

/// Writes metrics as lines, and lines as datagrams:
///
///     line     = namespace name ":" value "|" kind [ "|#" tag *( "," tag ) ]
///     datagram = line *( LF line )
///
/// Bytes that would end a part of a line become `_`, wherever they come from; so do those that are
/// no UTF-8 or do not print.
class StatsdLines {
 public:
  explicit StatsdLines(const StatsdOptions& options);

  using Tags = std::vector<StatsdTag>;
  void count(std::string_view name, std::uint64_t value, const Tags& tags = {});
  void gauge(std::string_view name, double value, const Tags& tags = {});
  void milliseconds(std::string_view name, double value, const Tags& tags = {});

  /// All datagrams since the last call, none of them longer than `kStatsdDatagramBytesMax`.
  [[nodiscard]] std::vector<std::string> take();

 private:
  void add(std::string_view name, double value, std::string_view kind, const Tags& tags);

  std::string prefix_;
  std::string tags_;  ///< of all lines, separated by commas
  std::size_t lines_max_;
  std::string line_;
  std::vector<std::string> datagrams_;
  std::size_t lines_ = 0;  ///< of the last datagram
};

/// What fits into a packet of an Ethernet with IPv6.
inline constexpr std::size_t kStatsdDatagramBytesMax = 1'432;

/// Of a queue's name and of a jobtype, so much is in a line.
inline constexpr std::size_t kStatsdPartBytesMax = 200;

/// Sends reports to statsd by UDP, in a thread of its own. Nobody waits for it: where it is behind,
/// or statsd cannot be reached, runs and gauges are left out.
class StatsdSender {
 public:
  /// Counts are sent as what they are more than `base`.
  StatsdSender(const StatsdOptions& options, const StatsdCounts& base);

  /// Does not wait: the thread ends by itself, also when a name server does not answer it.
  ~StatsdSender();
  StatsdSender(const StatsdSender&) = delete;
  StatsdSender& operator=(const StatsdSender&) = delete;

  void hand_over(StatsdReport report);

  /// What keeps it from sending; empty: nothing does.
  [[nodiscard]] std::string problem() const;
  /// The runs that were not told.
  [[nodiscard]] std::uint64_t left_out() const;

 private:
  struct Shared;
  class Work;

  std::shared_ptr<Shared> shared_;  ///< shared with the thread, which may outlive this
};

/// The datagrams for a report. `before`: the counts that were sent by then.
[[nodiscard]] std::vector<std::string> datagrams_of(const StatsdReport& report,
                                                    const StatsdCounts& before,
                                                    const StatsdOptions& options);

/// After a failure the name is asked for again, not sooner than this.
inline constexpr Duration kStatsdRetry = std::chrono::seconds(5);
/// It is also asked for again when nothing has failed: a host that has moved does not tell.
inline constexpr Duration kStatsdNameAge = std::chrono::minutes(1);

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
  StatsdCounts reported_;                 ///< of the last report
  Time next_gauges_{};
  std::optional<Survey> survey_;
  ProblemPeriod problem_{{.begun = "statsd_fails", .over = "statsd_works", .gap = 5s}};
};

inline constexpr Duration kStatsdInterval = std::chrono::milliseconds(100);
inline constexpr Duration kStatsdGaugesInterval = std::chrono::seconds(30);
/// So many queues have gauges: the busiest ones.
inline constexpr std::size_t kStatsdQueuesMax = 1'000;

}  // namespace millrace::server
