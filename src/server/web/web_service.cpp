#include "server/web/web_service.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/hash.hpp"
#include "base/text.hpp"
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

/// Monitoring that asks for /health does not wait for long itself.
constexpr auto kHealthMax = std::chrono::seconds(3);

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
    facts.disk_total_bytes = space.capacity;
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

std::string tag_of(std::string_view body) {
  Fnv1a hash;
  hash.add(body);
  return '"' + hex(hash.value()) + '"';
}

/// True when `If-None-Match`, a list, has the tag. A proxy that compresses marks it as weak.
bool names_tag(std::string_view list, std::string_view tag) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    std::string_view each = trimmed(list.substr(0, end));
    if (each.starts_with("W/")) each.remove_prefix(2);
    if (each == tag || each == "*") return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

/// An answer that the browser already has is not sent again.
http::Response tagged(const http::Request& request, http::Response response) {
  if (response.status != 200 || (request.method != "GET" && request.method != "HEAD")) {
    return response;
  }
  std::string tag = tag_of(response.body);
  if (names_tag(request.header("if-none-match"), tag)) {
    response.status = 304;
    response.body.clear();
  }
  response.headers["ETag"] = std::move(tag);
  if (!response.headers.contains("Cache-Control")) {
    // The browser must not store it. Our own script keeps the answer in memory, with its tag.
    response.headers["Cache-Control"] = "no-store";
  }
  return response;
}

/// How long an answer kept the thread of the broker busy, in total and in its longest turn.
/// Browsers show this next to the request.
class BrokerTiming {
 public:
  void add(Milliseconds turn) {
    all_ += turn;
    longest_ = std::max(longest_, turn);
  }
  [[nodiscard]] std::string show() const {
    char text[96];
    std::snprintf(text, sizeof text, "broker;dur=%.3f, turn;dur=%.3f", all_.count(),
                  longest_.count());
    return text;
  }

 private:
  Milliseconds all_{};
  Milliseconds longest_{};
};

bool is_report(const http::Request& request) {
  return request.method == "POST" && request.path == http::kReportPath;
}

http::Response refuse_without_answer() {
  return http::refuse(503, "the server does not answer: it is stopping, or its disk is too slow");
}

}  // namespace

WebService::WebService(Parts parts, Options options, BoundSocket socket)
    : parts_(parts),
      take_report_(std::move(options.take_report)),
      refuse_report_(std::move(options.refuse_report)),
      bulks_(parts.broker),
      site_{.broker = parts.broker,
            .format = parts.format,
            .bulks = bulks_,
            .cron = parts.cron,
            .trend = trend_,
            .series = series_,
            .failures = failures_,
            .stuck = stuck_,
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
      system_([directory = std::move(options.data_directory)] { return read_system(directory); }),
      guard_(std::move(options.guard)),
      report_key_(options.report_key),
      port_(std::move(socket),
            {.answers = {.login = [this](const http::Request& r) { return login_of(r); },
                         .head = [this](const http::Request& r) { return answer_head(r); },
                         .answer = [this](http::Request r) { return answer(std::move(r)); },
                         .body_bytes_max =
                             [bytes = options.job_bytes_max + kBodyRoom](const http::Request& r) {
                               return http::body_bytes_max(r, bytes);
                             }},
             .connections_max = options.connections_max,
             .tls = std::move(options.tls),
             .log = parts.log}) {
  parts_.broker.watch_failures(&failures_);
}

WebService::~WebService() {
  finish(false);
  parts_.broker.watch_failures(nullptr);
  parts_.ticker.plan(*this, kNever);
}

Outcome<Done> WebService::listen() {
  parts_.ticker.plan(*this, parts_.clock.now());
  {
    const std::lock_guard guard(mutex_);
    if (std::exchange(standby_, std::nullopt)) return Done{};
  }
  return port_.listen();
}

Outcome<Done> WebService::stand_by(Standby standby) {
  {
    const std::lock_guard guard(mutex_);
    if (std::exchange(standby_, std::move(standby))) return Done{};
  }
  return port_.listen();
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
  stuck_.work(parts_.broker.ledger().store(), parts_.broker.view().workers(), now);
  parts_.ticker.plan(*this, std::min({trend_.next_due(), series_.next_due(), stuck_.next_due()}));
  if (has_bulk_work_) parts_.turn.request();
}

void WebService::show_options(std::vector<std::pair<std::string, std::string>> options) {
  site_.facts.options = std::move(options);
}

void WebService::reload(const std::string& password, const ReportKey& key,
                        std::shared_ptr<const TlsContext> tls /* see Options */) {
  {
    const std::lock_guard guard(mutex_);
    guard_.password = password;
    report_key_ = key;
  }
  if (tls) port_.set_tls(std::move(tls));
}

void WebService::finish(bool is_all_durable) {
  gate_.close(is_all_durable);
  port_.close();
  port_.join();
}

// ---- in the port's threads ----------------------------------------------------------------------

http::GuardSettings WebService::guard_settings() {
  const std::lock_guard guard(mutex_);
  return guard_;
}

ReportKey WebService::report_key() {
  const std::lock_guard guard(mutex_);
  return report_key_;
}

std::optional<http::Response> WebService::answer_on_standby(const http::Request& request) {
  const std::lock_guard guard(mutex_);
  if (!standby_) return std::nullopt;
  if (auto own = http::answer_on_standby(standby_->facts, request.path)) return own;
  return http::redirect_to_leader(request, standby_->leader);
}

/// A signature is a guess of the password as well.
http::Login WebService::login_of(const http::Request& request) {
  if (!take_report_ || !is_report(request)) return http::login_of(request, guard_settings());
  const std::string signature = report_key().sign(request.header(http::kReportHeader));
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
  if (auto refused = http::check(request, guard_settings())) return refused;
  if (auto asset = http::serve_asset(request)) return tagged(request, std::move(*asset));
  return std::nullopt;
}

http::Response WebService::take_turn(const Part& part) {
  const Time now = parts_.clock.now();
  http::Response answered = part(now);
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

http::Response WebService::answer(http::Request asked) {
  if (auto refused = http::prepare(site_, asked)) return *std::move(refused);
  const http::SystemFacts system =
      needs_system_facts(asked.path) ? system_.facts() : http::SystemFacts{};
  // Shared: this thread may give up while the thread of the loop still uses it.
  const auto request = std::make_shared<const http::Request>(std::move(asked));
  Part part = [this, request, system](Time now) {
    return http::answer(site_, *request, {.now = now, .system = system});
  };
  const auto patience = request->path.starts_with("/health") ? kHealthMax : WebGate::kAnswerMax;
  // Shared for the same reason.
  const auto timing = std::make_shared<BrokerTiming>();
  std::optional<http::Response> response;
  do {
    response = gate_.ask(patience, [this, part, timing, request] {
      const http::LeadershipFacts facts = site_.traffic().leadership;
      if (auto refused = http::answer_without_lease(facts, request->path)) return *refused;
      const auto began = std::chrono::steady_clock::now();
      http::Response answered = take_turn(part);
      timing->add(std::chrono::steady_clock::now() - began);
      answered.headers["Server-Timing"] = timing->show();
      return answered;
    });
    if (!response) return refuse_without_answer();
    part = std::exchange(response->go_on, {});
    if (response->meanwhile) response->meanwhile();
  } while (part);
  if (response->write_body) response->body = response->write_body();
  return tagged(*request, std::move(*response));
}

}  // namespace millrace::server
