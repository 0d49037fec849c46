#include "server/statsd/statsd_sender.hpp"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "server/statsd/statsd_lines.hpp"
#include "server/statsd/statsd_socket.hpp"

namespace millrace::server {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

void add_counts(const StatsdCounts& now, const StatsdCounts& before, StatsdLines& lines) {
  struct Row {
    const char* name;
    std::uint64_t StatsdCounts::*value;
  };
  constexpr Row kRows[] = {{"jobs.count", &StatsdCounts::processed},
                           {"jobs.failed", &StatsdCounts::failed},
                           {"jobs.expired", &StatsdCounts::expired},
                           {"uniq.lock", &StatsdCounts::locks_taken},
                           {"uniq.denied", &StatsdCounts::locks_denied},
                           {"cron.enqueued", &StatsdCounts::cron_enqueued},
                           {"cron.refused", &StatsdCounts::cron_refused},
                           {"batch.callbacks", &StatsdCounts::batch_callbacks}};
  for (const Row& row : kRows) {
    const std::uint64_t count = now.*(row.value);
    // Some begin anew with a FLUSH.
    const std::uint64_t more = count - (before.*(row.value) <= count ? before.*(row.value) : 0);
    if (more > 0) lines.count(row.name, more);
  }
}

void add_gauges(const StatsdGauges& gauges, StatsdLines& lines) {
  for (const auto& [name, value] : gauges.values) lines.gauge(name, static_cast<double>(value));
  for (const StatsdGauges::OfQueue& queue : gauges.queues) {
    const StatsdLines::Tags tags = {{"queue", queue.name}};
    lines.gauge("queue.size", static_cast<double>(queue.size), tags);
    lines.gauge("queue.latency", queue.latency_s, tags);
    lines.gauge("enqueued." + queue.name, static_cast<double>(queue.size));
  }
  for (const StatsdGauges::OfQueue& queue : gauges.latencies) {
    lines.gauge("latency." + queue.name, queue.latency_s);
  }
}

}  // namespace

std::vector<std::string> datagrams_of(const StatsdReport& report, const StatsdCounts& before,
                                      const StatsdOptions& options) {
  StatsdLines lines(options);
  add_counts(report.counts, before, lines);
  report.runs.each([&](Duration took, std::string_view queue, std::string_view jobtype) {
    const double ms = std::chrono::duration<double, std::milli>(took).count();
    lines.milliseconds("jobs.perform", ms, {{"queue", queue}, {"jobtype", jobtype}});
  });
  if (report.gauges) add_gauges(*report.gauges, lines);
  return lines.take();
}

struct StatsdSender::Shared {
  mutable std::mutex mutex;  ///< of all the following
  std::condition_variable has_news;
  std::optional<StatsdReport> report;  ///< to be sent
  bool is_over = false;                ///< nobody hands over any more
  std::string problem;
  std::uint64_t left_out = 0;

  /// Waits. nullopt: there will be none.
  std::optional<StatsdReport> take() {
    std::unique_lock lock(mutex);
    has_news.wait(lock, [this] { return report || is_over; });
    if (is_over) return std::nullopt;
    return std::exchange(report, std::nullopt);
  }

  void tell(std::string text) {
    const std::lock_guard guard(mutex);
    problem = std::move(text);
  }
};

/// The thread.
class StatsdSender::Work {
 public:
  // Shared: see there.
  Work(std::shared_ptr<Shared> shared, StatsdOptions options, const StatsdCounts& base)
      : shared_(std::move(shared)), options_(std::move(options)), sent_(base) {}

  void run() {
    while (const auto report = shared_->take()) send(*report);
  }

 private:
  void send(const StatsdReport& report) {
    open_if_due();
    if (!socket_.is_open()) return;
    int error = 0;
    for (const std::string& datagram : datagrams_of(report, sent_, options_)) {
      const int first = socket_.send(datagram);
      // It may be the error of an earlier datagram: then this one was not tried.
      if (first == 0) continue;
      (void)socket_.send(datagram);
      error = first;
    }
    sent_ = report.counts;
    if (error != 0) {
      has_failed_ = true;
      shared_->tell("cannot send to " + options_.location.text() + ": " + std::strerror(error));
    } else if (std::exchange(has_sent_, true)) {
      // An error of the report before would have come by now.
      shared_->tell({});
    }
  }

  void open_if_due() {
    const SteadyTime now = std::chrono::steady_clock::now();
    const bool must_open = !socket_.is_open() || has_failed_;
    if (now - tried_at_ < (must_open ? kStatsdRetry : kStatsdNameAge)) return;
    tried_at_ = now;
    if (const auto opened = socket_.open(options_.location); !opened) {
      return shared_->tell(opened.error().text);
    }
    has_failed_ = false;
    has_sent_ = false;
  }

  // Shared: the sender may have gone.
  const std::shared_ptr<Shared> shared_;
  const StatsdOptions options_;
  StatsdCounts sent_;
  StatsdSocket socket_;
  bool has_sent_ = false;                                ///< since it was opened
  bool has_failed_ = false;                              ///< likewise
  SteadyTime tried_at_ = SteadyTime{} - kStatsdNameAge;  ///< to find the host
};

StatsdSender::StatsdSender(const StatsdOptions& options, const StatsdCounts& base)
    // Shared with the thread.
    : shared_(std::make_shared<Shared>()) {
  try {
    std::thread([shared = shared_, options, base] {
      pthread_setname_np(pthread_self(), "statsd");
      try {
        Work(shared, options, base).run();
      } catch (const std::exception& exception) {
        shared->tell(exception.what());
      }
    }).detach();
  } catch (const std::system_error& error) {
    shared_->tell(error.what());  // No room for a thread.
  }
}

StatsdSender::~StatsdSender() {
  const std::lock_guard guard(shared_->mutex);
  shared_->is_over = true;
  shared_->has_news.notify_one();
}

void StatsdSender::hand_over(StatsdReport report) {
  // Freed without the lock.
  std::optional<StatsdReport> unsent(std::move(report));
  const std::lock_guard guard(shared_->mutex);
  shared_->left_out += unsent->runs.left_out();
  std::swap(shared_->report, unsent);
  if (unsent) {
    unsent->runs.each([&](Duration, std::string_view, std::string_view) { ++shared_->left_out; });
    if (!shared_->report->gauges) shared_->report->gauges = std::move(unsent->gauges);
  }
  shared_->has_news.notify_one();
}

std::string StatsdSender::problem() const {
  const std::lock_guard guard(shared_->mutex);
  return shared_->problem;
}

std::uint64_t StatsdSender::left_out() const {
  const std::lock_guard guard(shared_->mutex);
  return shared_->left_out;
}

}  // namespace millrace::server
