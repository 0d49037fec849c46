#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/broker/bulk_changes.hpp"
#include "http/kit/guard.hpp"
#include "http/routes/alerts.hpp"
#include "http/routes/measures/failure_series.hpp"
#include "http/routes/measures/fleet.hpp"
#include "http/routes/measures/series.hpp"
#include "http/routes/measures/stuck_workers.hpp"
#include "http/routes/measures/trend.hpp"
#include "http/routes/site.hpp"
#include "server/alerts/alert_sender.hpp"
#include "server/cluster/node_reports.hpp"
#include "server/process/clock.hpp"
#include "server/turn/ticker.hpp"
#include "server/web/measure_file.hpp"
#include "server/web/system_reader.hpp"
#include "server/web/web_gate.hpp"
#include "server/web/web_logins.hpp"
#include "server/web/web_port.hpp"
#include "server/web/web_sessions.hpp"

namespace millrace::server {

/// The web UI, the JSON API and the metrics over HTTP. Requests are read and answers are written in
/// the thread of the port. Between the two, requests are handled in the thread of the broker, one
/// at a time.
class WebService final : public Deadline, private WebAnswers {
 public:
  struct Parts {
    Poller& poller;
    Broker& broker;
    CronBoard& cron;
    const WorkUnitFormat& format;
    Turn& turn;
    Ticker& ticker;
    Clock& clock;
    const Log& log;
  };

  struct Options {
    http::GuardSettings guard;
    http::ServerFacts facts;
    std::string data_directory;  ///< empty: the journal is not on a disk
    std::size_t job_bytes_max = 0;
    std::size_t connections_max = 0;  ///< see WebPort::Parts
    /// Shared with the options of the server; null: no encryption.
    std::shared_ptr<const TlsContext> tls;
    std::vector<AlertOptions> alerts;
    std::function<http::TrafficFacts()> traffic;
    std::function<http::ClusterFacts()> cluster;
    ReportKey report_key = ReportKey(std::string_view());  ///< what other servers sign reports with
    /// Takes the report of another server, in the loop's thread. Empty: there are no others.
    std::function<void(http::NodeReport report)> take_report;
    /// The same, told of one that was refused: `claimed` is its node, as its sender says, or empty.
    std::function<void(std::string claimed, std::string reason)> refuse_report;
    std::function<Result<JobId, PushRefusal>(std::string_view json, Time now,
                                             const access::Caller& caller)>
        push;
    std::function<std::function<std::string()>(Time now, QueueSizes sizes)> info;
    std::function<std::unique_ptr<PushInParts>(access::Caller caller)> push_in_parts;
    std::function<bool(std::string_view name, JobKind kind)> is_queue_name;
  };

  WebService(Parts parts, Options options, BoundSocket socket);
  ~WebService() override;

  /// What a server says that follows another one.
  struct Standby {
    http::LeadershipFacts facts;
    std::string leader;  ///< "host:port" of the leader's web port; empty: not known
  };

  /// Opens the port if it is not open, and answers by itself, without the loop, until `listen`:
  /// whatever is not about this very server is redirected to the leader.
  [[nodiscard]] Outcome<Done> stand_by(Standby standby);

  /// Measures what the leader does, until `listen`.
  void follow();

  /// Serves, from now on.
  [[nodiscard]] Outcome<Done> listen();
  [[nodiscard]] const Address& address() const { return port_.address(); }
  [[nodiscard]] int descriptor() const { return port_.descriptor(); }
  /// See there.
  [[nodiscard]] Outcome<BoundSocket> duplicate_socket() const { return port_.duplicate_socket(); }

  // In the thread of the loop.

  /// Runs the next slice of the bulk changes.
  void work(Time now);

  /// Answers to changes may leave: see `WebGate::let_go`.
  void let_go(Lsn durable) { gate_.let_go(durable); }
  void expire(Time now) override;
  /// The clock jumps by this, before anybody has connected.
  void shift_start(Duration jump) { site_.facts.started_at += jump; }
  /// From now on.
  void set_alerts(std::vector<AlertOptions> alerts);
  void show_options(std::vector<std::pair<std::string, std::string>> options);
  void reload(const std::string& password, access::SharedUsers users, const ReportKey& key,
              std::shared_ptr<const TlsContext> tls /* see Options */);

  /// Called when the loop has ended. Changes that wait are answered as done if everything is
  /// durable; otherwise nobody knows. Waits for the threads of the port.
  void finish(bool is_all_durable);

 private:
  struct Visit;
  using SharedVisit = std::shared_ptr<Visit>;  ///< by the calls that go on with it

  // In the port's thread.
  void log_in(const std::shared_ptr<http::Request>& request, LoggedIn then) override;
  [[nodiscard]] http::Login login_of(const http::Request& request) const;
  [[nodiscard]] std::optional<http::Response> answer_head(const http::Request& request,
                                                          http::Login login) override;
  [[nodiscard]] std::size_t body_bytes_max(const http::Request& request) const override {
    return http::is_form(request, guard_) ? http::kFormBytesMax
                                          : http::body_bytes_max(request, body_bytes_max_);
  }
  void answer(/* shared: see there */ std::shared_ptr<http::Request> request, Then then) override;
  [[nodiscard]] http::Login take_word(http::Request& request) const;
  /// The request is shared, as above.
  void check_password(const http::Credentials& said, const std::shared_ptr<http::Request>& request,
                      LoggedIn then);
  /// The request is shared, as above.
  void check_token(std::string_view text, const std::shared_ptr<http::Request>& request,
                   LoggedIn then);
  /// The request is shared, as above.
  void log_in_by_form(const std::shared_ptr<http::Request>& request, Then then);
  [[nodiscard]] http::Response answer_form(const http::Request& request, const std::string& name,
                                           http::Login login);
  [[nodiscard]] http::Response log_out(const http::Request& request);
  void note(Change change);
  void note_refused(const http::Request& request, Change attempt);
  [[nodiscard]] http::Response find_token(std::string_view hash, std::optional<Token>& found);
  void ask(const SharedVisit& visit);
  void go_on(const SharedVisit& visit, std::optional<http::Response> response);
  [[nodiscard]] std::optional<http::Response> answer_on_standby(const http::Request& request);
  [[nodiscard]] std::optional<http::Response> take_report(const http::Request& request,
                                                          http::Login login);
  [[nodiscard]] http::Response refuse_report(int status, std::string claimed, std::string reason);

  // In the thread of the loop.
  void work_alerts(Time now);
  void take_alert_results();
  [[nodiscard]] http::Response take_turn(Visit& visit);
  /// The part of an answer that one turn of the loop computes.
  using Part = std::function<http::Response(Time now)>;
  [[nodiscard]] http::Response take_turn(const Part& part);

  Parts parts_;
  const std::size_t body_bytes_max_;
  const std::function<void(http::NodeReport report)> take_report_;
  const std::function<void(std::string claimed, std::string reason)> refuse_report_;
  BulkChanges bulks_;
  http::Trend trend_;
  http::Series series_;
  http::FailureSeries failures_;
  http::StuckWorkers stuck_;
  http::Fleet fleet_;
  http::Alerts alerts_;
  std::vector<AlertOptions> receivers_;  ///< of the alerts
  std::optional<AlertSender> alert_sender_;
  http::SystemFacts system_facts_;  ///< of the last round of the alerts
  MeasureFile measures_;
  http::Site site_;
  bool has_bulk_work_ = false;
  bool is_open_ = false;
  bool is_serving_ = false;
  WebGate gate_;

  // Used in the port's thread.
  http::GuardSettings guard_;
  WebLogins logins_;
  WebSessions sessions_;
  ReportKey report_key_;
  std::optional<Standby> standby_;  ///< nullopt: it serves

  WebPort port_;
  SystemReader system_;
};

}  // namespace millrace::server
