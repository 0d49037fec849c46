#pragma once

#include <string>
#include <string_view>

#include "core/broker/bulk_changes.hpp"
#include "core/ports/session.hpp"
#include "faktory/job/work_unit.hpp"
#include "faktory/service.hpp"
#include "http/cron_table.hpp"
#include "http/kit/json.hpp"
#include "http/routes/alerts.hpp"
#include "http/routes/site.hpp"

namespace millrace::http {

/// A client that says nothing.
class SilentSession final : public Session {
 public:
  void start(Time) override {}
  void receive(std::string_view, Time) override {}
  void resume(Time) override {}
  void end_of_input(Time) override {}
  void deliver(const Delivery&, Time) override {}
  void close(Time) override {}
  [[nodiscard]] bool wants_input() const override { return true; }
  [[nodiscard]] bool wants_resume() const override { return false; }
  [[nodiscard]] bool wants_close() const override { return false; }
};

/// The web service without sockets and threads, over a broker of its own, and a clock that the test
/// sets.
class WebFixture {
 public:
  WebFixture();

  Response get(const std::string& target);
  Response post(const std::string& target, const Json& body = Json::object());
  /// Of an answer in several turns the first part, or the last one.
  Response ask(Request request);
  Response ask_all(Request request);
  /// The JSON of a GET that succeeds.
  Json read(const std::string& target);

  JobId put(std::string_view body, std::string_view tube = "default");
  JobId push(std::string_view jobtype, std::string_view queue = "default",
             std::string_view more = "");
  /// Pushes a job and lets a worker fail it; with `retry` 0 retries it is dead.
  JobId fail(std::string_view jobtype, std::string_view message, bool is_last = false,
             std::string_view queue = "failing");
  /// Reserves the next job of the queue for a worker.
  JobId fetch(std::string_view queue = "default");
  /// That worker waits for one.
  void wait(std::string_view queue);
  /// The connection of another worker.
  ClientId worker(const std::string& wid);
  /// The first worker has done the job.
  void acknowledge(JobId id);

  /// Lets bulk changes run to their end.
  void settle();

  [[nodiscard]] const Job* find(JobId id) const { return broker.view().jobs().find(id); }

  Time now{std::chrono::seconds{1'700'000'000}};
  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker{ledger, format, {.random_seed = 1, .dead_jobs_max = 1000}};
  faktory::Service service{broker, format, {}, now};
  BulkChanges bulks{broker};
  CronTable cron{service, broker};
  Trend trend;
  Series series;
  FailureSeries failures;
  StuckWorkers stuck;
  Fleet fleet;
  Alerts alerts;
  TrafficFacts traffic;
  ClusterFacts cluster;
  SystemFacts system;
  Site site;
  int turns = 0;  ///< of the broker, that the last answer to `get` or `post` took

 private:
  SilentSession session_;
  ClientId worker_;
  int pushed_ = 0;
  int secrets_ = 0;
};

/// `/api/v1/jobs?state=dead` taken apart.
[[nodiscard]] Request request_of(const std::string& method, const std::string& target);

}  // namespace millrace::http
