#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/statsd/statsd_options.hpp"
#include "server/statsd/statsd_report.hpp"

namespace millrace::server {

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

}  // namespace millrace::server
