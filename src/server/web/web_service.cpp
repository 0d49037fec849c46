#include "server/web/web_service.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "faktory/job/stored_form.hpp"
#include "http/kit/assets.hpp"
#include "http/kit/json.hpp"
#include "http/kit/text.hpp"
#include "server/process/process.hpp"

namespace millrace::server {
namespace {

namespace fs = std::filesystem;

/// The pause of bulk changes while the disk is behind.
constexpr Duration kBulkPause = 20ms;

using Milliseconds = std::chrono::duration<double, std::milli>;

/// A pushed job adds JSON around its body.
constexpr std::size_t kBodyRoom = 16 * 1024;

http::SystemFacts read_system(const std::string& directory) {
  http::SystemFacts facts;
  facts.memory_bytes = used_memory_bytes();
  facts.memory_total_bytes = machine_memory_bytes();
  if (directory.empty()) return facts;
  facts.has_journal = true;
  std::error_code error;
  const fs::space_info space = fs::space(directory, error);
  if (!error) {
    facts.disk_free_bytes = space.available;
    // As df counts: what is reserved for root is nobody's.
    facts.disk_total_bytes = space.capacity - space.free + space.available;
  }
  fs::directory_iterator entries(directory, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    if (entries->path().extension() != ".log") continue;
    std::error_code gone;
    const std::uint64_t bytes = entries->file_size(gone);
    if (gone) continue;
    facts.journal_bytes += bytes;
    ++facts.journal_segments;
  }
  return facts;
}

bool needs_system_facts(const std::string& path) {
  return path == "/metrics" || path == "/api/v1/server" || path == "/api/v1/overview";
}

std::vector<http::AlertRule> rules_of(const std::vector<AlertOptions>& alerts) {
  std::vector<http::AlertRule> rules;
  for (const AlertOptions& each : alerts) rules.push_back(each.rule);
  return rules;
}

bool is_report(const http::Request& request) {
  return request.method == "POST" && request.path == http::kReportPath;
}

}  // namespace

/// A request on its way to the broker's thread and back, in one of them at a time.
struct WebService::Visit {
  std::shared_ptr<http::Request> request;  ///< see `WebAnswers::answer`
  Then then;
  std::optional<http::Response> refusal = http::refuse(500, "the request failed in the server");
  http::SystemFacts system = {};
  Part part = {};
  /// How long it kept the thread of the broker busy, in total and in its longest turn. Browsers
  /// show this next to the request.
  Milliseconds all_turns{};
  Milliseconds longest_turn{};
};

WebService::WebService(Parts parts, Options options, BoundSocket socket)
    : parts_(parts),
      body_bytes_max_(options.job_bytes_max + kBodyRoom),
      take_report_(std::move(options.take_report)),
      refuse_report_(std::move(options.refuse_report)),
      bulks_(parts.broker),
      receivers_(std::move(options.alerts)),
      measures_({series_, failures_, alerts_, parts.broker.activity()}, options.data_directory,
                parts.log),
      site_{.broker = parts.broker,
            .format = parts.format,
            .bulks = bulks_,
            .cron = parts.cron,
            .trend = trend_,
            .series = series_,
            .failures = failures_,
            .stuck = stuck_,
            .alerts = alerts_,
            .facts = std::move(options.facts),
            .traffic = std::move(options.traffic),
            .cluster = std::move(options.cluster),
            .push = std::move(options.push),
            .info = std::move(options.info),
            .push_in_parts = std::move(options.push_in_parts),
            .is_queue_name = std::move(options.is_queue_name),
            .args_part = faktory::args_part,
            .random = random_number},
      gate_(parts.poller, parts.turn),
      guard_(std::move(options.guard)),
      report_key_(options.report_key),
      port_(std::move(socket), {.answers = *this,
                                .connections_max = options.connections_max,
                                .tls = std::move(options.tls)}),
      system_(port_.context(),
              [directory = std::move(options.data_directory)] { return read_system(directory); }) {
  parts_.broker.watch_failures(&failures_);
  alerts_.set(rules_of(receivers_));
}

WebService::~WebService() {
  finish(false);
  parts_.broker.watch_failures(nullptr);
  parts_.ticker.plan(*this, kNever);
}

Outcome<Done> WebService::listen() {
  const Time now = parts_.clock.now();
  measures_.load(now);
  alerts_.take_over(now, is_open_);
  parts_.broker.activity().note({.at = now,
                                 .protocol = "server",
                                 .from = {},
                                 .client = site_.facts.hostname,
                                 .action = is_open_ ? "server/lead" : "server/start",
                                 .target = {},
                                 .details = http::concat("version ", site_.facts.version)});
  parts_.ticker.plan(*this, now);
  port_.post([this] { standby_.reset(); });
  return std::exchange(is_open_, true) ? Done{} : port_.listen();
}

Outcome<Done> WebService::stand_by(Standby standby) {
  port_.post([this, standby = std::move(standby)] { standby_ = standby; });
  return std::exchange(is_open_, true) ? Done{} : port_.listen();
}

// ---- in the loop's thread -----------------------------------------------------------------------

void WebService::work(Time now) {
  if (!has_bulk_work_) return;
  if (parts_.turn.is_paused()) return parts_.ticker.plan(*this, now + kBulkPause);
  has_bulk_work_ = bulks_.work(now);
  if (has_bulk_work_) parts_.turn.request();
}

void WebService::expire(Time now) {
  trend_.note(parts_.broker.view(), now);
  series_.work(parts_.broker, now);
  stuck_.work(parts_.broker, now);
  measures_.work(now);
  work_alerts(now);
  parts_.ticker.plan(*this, std::min({trend_.next_due(), series_.next_due(), stuck_.next_due(),
                                      measures_.next_due(), alerts_.next_due()}));
  if (has_bulk_work_) parts_.turn.request();
}

void WebService::set_alerts(std::vector<AlertOptions> alerts) {
  take_alert_results();
  alert_sender_.reset();
  receivers_ = std::move(alerts);
  alerts_.set(rules_of(receivers_));
}

void WebService::work_alerts(Time now) {
  if (now < alerts_.next_due()) return;
  take_alert_results();
  // A disk may not answer: the next round knows what this one asks for.
  port_.post([this] {
    system_.facts([this](const http::SystemFacts& facts) {
      parts_.poller.post([this, facts] { system_facts_ = facts; });
    });
  });
  alerts_.work(site_, system_facts_, now);
  for (http::AlertMessage& message : alerts_.take()) {
    if (!alert_sender_) alert_sender_ = std::make_unique<AlertSender>(receivers_);
    alert_sender_->hand_over(std::move(message));
  }
}

void WebService::take_alert_results() {
  if (!alert_sender_) return;
  for (const http::AlertResult& result : alert_sender_->take()) {
    alerts_.note(result, parts_.broker.activity(), parts_.clock.now());
    if (result.problem.empty()) continue;
    const http::AlertRule& rule = receivers_.at(result.place.alert).rule;
    parts_.log.event("alert_not_sent", {{"alert", rule.name},
                                        {"receiver", rule.receiver},
                                        {"tries", result.tries},
                                        {"problem", result.problem}});
  }
}

void WebService::show_options(std::vector<std::pair<std::string, std::string>> options) {
  site_.facts.options = std::move(options);
}

void WebService::reload(const std::string& password, const ReportKey& key,
                        std::shared_ptr<const TlsContext> tls /* see Options */) {
  port_.post([this, password, key] {
    guard_.password = password;
    report_key_ = key;
  });
  if (tls) port_.set_tls(std::move(tls));
}

void WebService::finish(bool is_all_durable) {
  gate_.close(is_all_durable);
  port_.close();
  port_.join();
  take_alert_results();
  alert_sender_.reset();
  measures_.save_last();
}

// ---- in the port's thread -----------------------------------------------------------------------

std::optional<http::Response> WebService::answer_on_standby(const http::Request& request) {
  if (!standby_) return std::nullopt;
  if (auto own = http::answer_on_standby(standby_->facts, request.path)) return own;
  return http::redirect_to_leader(request, standby_->leader);
}

/// A signature is a guess of the password as well.
http::Login WebService::login_of(const http::Request& request) {
  if (!take_report_ || !is_report(request)) return http::login_of(request, guard_);
  const std::string signature = report_key_.sign(request.header(http::kReportHeader));
  const bool is_right = http::is_same_secret(request.header(http::kSignatureHeader), signature);
  return is_right ? http::Login::kRight : http::Login::kWrong;
}

/// nullopt: it is none.
std::optional<http::Response> WebService::take_report(const http::Request& request) {
  if (!take_report_ || !is_report(request)) return std::nullopt;
  auto report = http::decode_report(request.header(http::kReportHeader));
  if (login_of(request) != http::Login::kRight) {
    return refuse_report(403, report ? report->node : "",
                         "the report is not signed with the password of this server, or by an "
                         "older release");
  }
  if (!report) return refuse_report(400, "", report.error().text);
  parts_.poller.post([this, taken = std::move(*report)] { take_report_(taken); });
  return http::Response{.status = 204};
}

http::Response WebService::refuse_report(int status, std::string claimed, std::string reason) {
  http::Response refusal = http::refuse(status, reason);
  parts_.poller.post([this, claimed = std::move(claimed), reason = std::move(reason)] {
    refuse_report_(claimed, reason);
  });
  return refusal;
}

std::optional<http::Response> WebService::answer_head(const http::Request& request) {
  if (auto answered = answer_on_standby(request)) return answered;
  if (auto taken = take_report(request)) return taken;
  if (auto refused = http::check(request, guard_)) return refused;
  if (auto asset = http::serve_asset(request)) return asset;
  return std::nullopt;
}

void WebService::answer(/* shared: see there */ std::shared_ptr<http::Request> request, Then then) {
  // Shared: see there.
  const auto visit = std::make_shared<Visit>(Visit{std::move(request), std::move(then)});
  port_.work_off(
      visit->request->body.size() > kWebLongBytes,
      [this, visit] { visit->refusal = http::prepare(site_, *visit->request); },
      [this, visit](bool) {
        if (visit->refusal) return visit->then(std::move(visit->refusal));
        if (!needs_system_facts(visit->request->path)) return ask(visit);
        system_.facts([this, visit](const http::SystemFacts& facts) {
          visit->system = facts;
          ask(visit);
        });
      });
}

void WebService::ask(const SharedVisit& visit) {
  gate_.ask([this, visit] { return take_turn(*visit); },
            [this, visit](std::optional<http::Response> response) {
              port_.post([this, visit, response = std::move(response)]() mutable {
                go_on(visit, std::move(response));
              });
            });
}

void WebService::go_on(const SharedVisit& visit, std::optional<http::Response> response) {
  if (!response || !response->go_on) return visit->then(std::move(response));
  visit->part = std::move(response->go_on);
  auto meanwhile = std::move(response->meanwhile);
  if (!meanwhile) return ask(visit);
  port_.work_off(true, std::move(meanwhile),
                 [this, visit](bool is_good) { is_good ? ask(visit) : visit->then(std::nullopt); });
}

// ---- in the loop's thread, for the port ---------------------------------------------------------

http::Response WebService::take_turn(Visit& visit) {
  const http::Request& request = *visit.request;
  const http::LeadershipFacts facts = site_.traffic().leadership;
  if (auto refused = http::answer_without_lease(facts, request.path)) return *std::move(refused);
  if (gate_.is_full() && http::is_change(request)) {
    return http::refuse(503, "too many changes wait for the disk: nothing was changed");
  }
  const Part part = std::exchange(visit.part, {});
  const auto began = std::chrono::steady_clock::now();
  http::Response answered = take_turn(part ? part : [&](Time now) {
    return http::answer(site_, request, {.now = now, .system = visit.system});
  });
  const Milliseconds took = std::chrono::steady_clock::now() - began;
  visit.all_turns += took;
  visit.longest_turn = std::max(visit.longest_turn, took);
  char timing[96];
  std::snprintf(timing, sizeof timing, "broker;dur=%.3f, turn;dur=%.3f", visit.all_turns.count(),
                visit.longest_turn.count());
  answered.headers["Server-Timing"] = timing;
  return answered;
}

http::Response WebService::take_turn(const Part& part) {
  const Time now = parts_.clock.now();
  http::Response answered = part(now);
  if (alerts_.next_due() <= now) parts_.ticker.plan(*this, now);
  has_bulk_work_ = has_bulk_work_ || bulks_.is_running();
  if (has_bulk_work_) parts_.turn.request();
  const Time wall = parts_.broker.view().wall_clock().shown(now);
  answered.headers["X-Now-Ms"] = std::to_string(
      std::chrono::floor<std::chrono::milliseconds>(wall.time_since_epoch()).count());
  answered.headers["X-As-Of"] = http::show_as_of(parts_.broker.view(), now);
  answered.headers["X-Instance"] = site_.facts.instance;
  if (site_.facts.is_read_only) answered.headers["X-Read-Only"] = "1";
  if (!site_.facts.name.empty()) {
    answered.headers["X-Name"] = http::percent_encoded(site_.facts.name);
    answered.headers["X-Name-Color"] = site_.facts.name_color;
  }
  return answered;
}

}  // namespace millrace::server
