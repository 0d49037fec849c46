#include "server/web/web_service.hpp"

#include <algorithm>
#include <asio/post.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "faktory/job/stored_form.hpp"
#include "http/kit/assets.hpp"
#include "http/kit/head.hpp"
#include "http/kit/json.hpp"
#include "http/kit/session_cookie.hpp"
#include "http/kit/text.hpp"
#include "http/routes/tokens.hpp"
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

/// Whether the UI asks for what is about all queues. Where it shows buttons: nowhere, everywhere,
/// or for queues that match one of these patterns.
void show_rights(const access::Caller& caller, http::Response& response) {
  constexpr auto kOperate = access::Right::kOperate;
  constexpr std::size_t kPatternsBytesMax = 2048;
  if (!caller.may_everywhere(access::Right::kView)) response.headers["X-Limited"] = "1";
  if (!caller.may_anywhere(kOperate)) response.headers["X-Read-Only"] = "1";
  if (!caller.may_anywhere(kOperate) || caller.may_everywhere(kOperate)) return;
  std::string patterns;
  for (const std::string& each : caller.patterns(kOperate)) {
    patterns += (patterns.empty() ? "" : " ") + http::percent_encoded(each);
  }
  // Of so many the page shows all buttons, and the server refuses.
  if (patterns.size() <= kPatternsBytesMax) response.headers["X-Operates"] = patterns;
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
      measures_({series_, failures_, alerts_, trend_, fleet_}, options.data_directory, parts.log),
      site_{
          .broker = parts.broker,
          .format = parts.format,
          .bulks = bulks_,
          .cron = parts.cron,
          .trend = trend_,
          .series = series_,
          .failures = failures_,
          .stuck = stuck_,
          .fleet = fleet_,
          .alerts = alerts_,
          .facts = std::move(options.facts),
          .traffic = std::move(options.traffic),
          .cluster = std::move(options.cluster),
          .push = std::move(options.push),
          .info = std::move(options.info),
          .push_in_parts = std::move(options.push_in_parts),
          .is_queue_name = std::move(options.is_queue_name),
          .read_block = options.data_directory.empty()
                            ? std::function<std::string(const http::Block&)>()
                            : [directory = options.data_directory](
                                  const http::Block&
                                      block) { return MeasureFile::read_block(directory, block); },
          .args_part = faktory::args_part,
          .random = random_number,
          .draw_secret = draw_token},
      gate_(parts.poller, parts.turn),
      guard_(std::move(options.guard)),
      logins_(guard_.users),
      sessions_(guard_.users),
      report_key_(options.report_key),
      port_(std::move(socket), {.answers = *this,
                                .connections_max = options.connections_max,
                                .tls = std::move(options.tls)}),
      system_(port_.context(),
              [directory = std::move(options.data_directory)] { return read_system(directory); }) {
  parts_.broker.watch_failures(&failures_);
  alerts_.set(rules_of(receivers_));
  alert_sender_.emplace(parts_.poller, receivers_);
}

WebService::~WebService() {
  finish(false);
  parts_.broker.watch_failures(nullptr);
  parts_.ticker.plan(*this, kNever);
}

void WebService::follow() {
  const Time now = parts_.clock.now();
  measures_.load(now);
  parts_.ticker.plan(*this, now);
}

Outcome<Done> WebService::listen() {
  const Time now = parts_.clock.now();
  measures_.load(now);
  is_serving_ = true;
  alerts_.take_over(now, is_open_);
  const std::string node = site_.traffic().leadership.node;
  parts_.broker.activity().note({.at = now,
                                 .protocol = "server",
                                 .from = {},
                                 .client = site_.facts.hostname,
                                 .action = node.empty() ? "server/start" : "server/lead",
                                 .target = node,
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
  measures_.work(now);
  const Time due = std::min({trend_.next_due(), series_.next_due(), measures_.next_due()});
  // Workers are the leader's, and so are alerts.
  if (!is_serving_) return parts_.ticker.plan(*this, due);
  stuck_.work(parts_.broker, now);
  fleet_.work(parts_.broker, now);
  work_alerts(now);
  parts_.ticker.plan(*this, std::min({due, stuck_.next_due(), fleet_.next_due(), alerts_.next_due(),
                                      alert_sender_->next_due()}));
  if (has_bulk_work_) parts_.turn.request();
}

void WebService::set_alerts(std::vector<AlertOptions> alerts) {
  take_alert_results();
  receivers_ = std::move(alerts);
  alerts_.set(rules_of(receivers_));
  alert_sender_.emplace(parts_.poller, receivers_);
}

void WebService::work_alerts(Time now) {
  alert_sender_->work(now);
  take_alert_results();
  if (now < alerts_.next_due()) return;
  // A disk may not answer: the next round knows what this one asks for.
  port_.post([this] {
    system_.facts([this](const http::SystemFacts& facts) {
      parts_.poller.post([this, facts] { system_facts_ = facts; });
    });
  });
  alerts_.work(site_, system_facts_, now);
  for (http::AlertMessage& message : alerts_.take()) {
    alert_sender_->hand_over(std::move(message));
  }
}

void WebService::take_alert_results() {
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

void WebService::reload(const std::string& password, access::SharedUsers users,
                        const ReportKey& key,
                        std::shared_ptr<const TlsContext> tls /* see Options */) {
  port_.post([this, password, users = std::move(users), key] {
    guard_.password = password;
    guard_.users = users;
    logins_.set(users);
    sessions_.set(users);
    report_key_ = key;
  });
  if (tls) port_.set_tls(std::move(tls));
}

void WebService::finish(bool is_all_durable) {
  gate_.close(is_all_durable);
  port_.close();
  port_.join();
  logins_.thread().join();
  take_alert_results();
  measures_.save_last();
}

// ---- in the port's thread -----------------------------------------------------------------------

std::optional<http::Response> WebService::answer_on_standby(const http::Request& request) {
  if (!standby_) return std::nullopt;
  if (auto own = http::answer_on_standby(standby_->facts, request.path)) return own;
  return http::redirect_to_leader(request, standby_->leader);
}

/// A signature is a guess of the password as well.
http::Login WebService::login_of(const http::Request& request) const {
  if (!take_report_ || !is_report(request)) return http::login_of(request, guard_);
  const std::string signature = report_key_.sign(request.header(http::kReportHeader));
  const bool is_right = http::is_same_secret(request.header(http::kSignatureHeader), signature);
  return is_right ? http::Login::kRight : http::Login::kWrong;
}

/// The request is shared: see `WebAnswers::answer`.
void WebService::log_in(const std::shared_ptr<http::Request>& request, LoggedIn then) {
  if (guard_.users || !guard_.password.empty()) request->identified_by = "password";
  if (!guard_.users) request->caller = access::Caller::everybody();
  if (!guard_.users || is_report(*request)) return then(login_of(*request));
  if (http::is_open_to_all(*request) && !http::is_change(*request)) return then(http::Login::kNone);
  const std::string& header = guard_.users->proxy().header;
  if (!header.empty() && request->headers.contains(header)) return then(take_word(*request));
  if (request->header("authorization").empty()) {
    for (const std::string_view id : http::session_ids(*request)) {
      auto caller = sessions_.find(id, WebSessions::Moment::clock::now());
      if (!caller) continue;
      request->caller = std::move(*caller);
      request->identified_by = "session";
      return then(http::Login::kRight);
    }
    return then(http::Login::kNone);
  }
  if (const auto token = http::bearer_of(*request)) {
    return check_token(*token, request, std::move(then));
  }
  const auto said = http::credentials_of(*request);
  said ? check_password(*said, request, std::move(then)) : then(http::Login::kWrong);
}

/// Of a proxy that people log in to. From elsewhere, or if it may be that of somebody before the
/// proxy, it is a guess like a wrong password.
http::Login WebService::take_word(http::Request& request) const {
  const access::TrustedProxy& proxy = guard_.users->proxy();
  request.identified_by = "proxy";
  if (!proxy.is_at(request.from) || request.repeated.contains(proxy.header)) {
    return http::Login::kWrong;
  }
  const access::User* const user = guard_.users->find(request.header(proxy.header));
  if (user == nullptr) return http::Login::kNoUser;
  request.caller = access::Caller(guard_.users, *user);
  return http::Login::kRight;
}

void WebService::check_password(const http::Credentials& said,
                                /* shared: see `WebAnswers::answer` */
                                const std::shared_ptr<http::Request>& request, LoggedIn then) {
  if (auto caller = logins_.known(said)) {
    request->caller = std::move(*caller);
    return then(http::Login::kRight);
  }
  auto begun = logins_.begin(said, request->from);
  if (!begun) return then(http::Login::kTooMany);
  // Shared by the two threads, one after the other.
  const auto check = std::make_shared<WebLogins::Check>(std::move(*begun));
  asio::post(logins_.thread(), [this, request, check, then = std::move(then)] {
    check->work();
    port_.post([this, request, check, then] {
      auto caller = logins_.finish(*check);
      if (!caller) return then(http::Login::kWrong);
      request->caller = std::move(*caller);
      then(http::Login::kRight);
    });
  });
}

/// The broker's thread has the tokens. It looks again when it answers: see `take_turn`.
void WebService::check_token(std::string_view text,
                             /* shared: see `WebAnswers::answer` */
                             const std::shared_ptr<http::Request>& request, LoggedIn then) {
  request->identified_by = "token";
  if (standby_) return then(http::Login::kNone);
  if (!http::is_token_text(text)) return then(http::Login::kWrong);
  request->token_hash = digest_of_secret(text);
  // Shared by the two threads, one after the other.
  const auto found = std::make_shared<std::optional<Token>>();
  gate_.ask(
      [this, found, hash = request->token_hash] { return find_token(hash, *found); },
      [this, found, request, then = std::move(then)](std::optional<http::Response> response) {
        port_.post([this, found, request, then, is_known = response && response->status == 200] {
          if (!is_known) return then(http::Login::kTooMany);
          const access::User* const user =
              *found && guard_.users ? guard_.users->find((*found)->user) : nullptr;
          if (user == nullptr) return then(http::Login::kWrong);
          request->caller = access::Caller(guard_.users, *user);
          request->caller.limit(http::grant_of(**found));
          then(http::Login::kRight);
        });
      });
}

/// The request is shared: see `WebAnswers::answer`.
void WebService::log_in_by_form(const std::shared_ptr<http::Request>& request, Then then) {
  std::multimap<std::string, std::string> fields;
  http::read_query(request->body, fields);
  if (fields.count("name") != 1 || fields.count("password") != 1) {
    return then(http::refuse(400, "the fields are name and password, each once"));
  }
  const http::Credentials said{.user = fields.find("name")->second,
                               .password = fields.find("password")->second};
  request->caller = {};
  request->identified_by = "password";
  check_password(said, request, [this, request, name = said.user, then](http::Login login) {
    then(answer_form(*request, name, login));
  });
}

http::Response WebService::answer_form(const http::Request& request, const std::string& name,
                                       http::Login login) {
  if (login == http::Login::kTooMany) {
    return http::show_form(request, 503, "Too many passwords are being checked. Try again.");
  }
  // Nobody is this user any more if the users have just changed.
  const access::User* const user = guard_.users ? guard_.users->find(name) : nullptr;
  const bool is_right = login == http::Login::kRight && user != nullptr &&
                        request.caller.is_unchanged_in(guard_.users);
  if (is_right) {
    // An id that somebody has given the browser is worth nothing.
    for (const std::string_view id : http::session_ids(request)) sessions_.end(id);
    http::Response response = http::lead_on(request);
    response.headers["Set-Cookie"] = http::set_session_cookie(
        request, sessions_.begin(*user, WebSessions::Moment::clock::now()));
    Change change = http::change_of(request);
    change.action = "login";
    note(std::move(change));
    return response;
  }
  http::Response refusal = http::show_form(request, 401, "The user name or the password is wrong.");
  refusal.is_wrong_login = true;
  auto attempt = http::refused_attempt(request, refusal);
  // People type passwords into the wrong field: a name that nobody has is noted nowhere.
  attempt->user = user != nullptr ? name : "";
  note_refused(request, *std::move(attempt));
  return refusal;
}

http::Response WebService::log_out(const http::Request& request) {
  for (const std::string_view id : http::session_ids(request)) sessions_.end(id);
  Change change = http::change_of(request);
  change.action = "logout";
  note(std::move(change));
  http::Response response{.body = "{}"};
  response.headers["Set-Cookie"] = http::set_session_cookie(request, {});
  return response;
}

/// nullopt: it is none.
std::optional<http::Response> WebService::take_report(const http::Request& request,
                                                      http::Login login) {
  if (!take_report_ || !is_report(request)) return std::nullopt;
  auto report = http::decode_report(request.header(http::kReportHeader));
  if (login != http::Login::kRight) {
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

std::optional<http::Response> WebService::answer_head(const http::Request& request,
                                                      http::Login login) {
  if (auto answered = answer_on_standby(request)) return answered;
  if (auto taken = take_report(request, login)) return taken;
  if (auto refused = http::check(request, guard_, login)) {
    if (auto attempt = http::refused_attempt(request, *refused)) {
      note_refused(request, *std::move(attempt));
    }
    return refused;
  }
  if (http::is_form(request, guard_) || http::is_logout(request, guard_)) return std::nullopt;
  if (auto asset = http::serve_asset(request)) return asset;
  return std::nullopt;
}

/// Nobody waits for the disk: people log in to see why it does not respond.
void WebService::note(Change change) {
  parts_.poller.post([this, change = std::move(change)]() mutable {
    if (!site_.traffic().leadership.may_answer) return;
    change.at = parts_.clock.now();
    parts_.broker.activity().note(std::move(change));
    parts_.turn.request();
  });
}

void WebService::note_refused(const http::Request& request, Change attempt) {
  std::string peer = request.caller.name().empty() ? request.from : std::string();
  parts_.poller.post([this, attempt = std::move(attempt), peer = std::move(peer)]() mutable {
    if (!site_.traffic().leadership.may_answer) return;
    attempt.at = parts_.clock.now();
    parts_.broker.activity().refuse(std::move(attempt), peer);
  });
}

void WebService::answer(/* shared: see there */ std::shared_ptr<http::Request> request, Then then) {
  if (http::is_form(*request, guard_)) return log_in_by_form(request, std::move(then));
  // Users may have changed while the body arrived.
  const bool is_user = !request->caller.name().empty();
  if (is_user && !request->caller.is_unchanged_in(guard_.users)) {
    return then(http::refuse(401, "the user has changed: log in again"));
  }
  if (http::is_logout(*request, guard_)) return then(log_out(*request));
  // Shared: see there.
  const auto visit = std::make_shared<Visit>(Visit{std::move(request), std::move(then)});
  port_.work_off(
      visit->request->body.size() > kWebLongBytes,
      [this, visit] { visit->refusal = http::prepare(site_, *visit->request); },
      [this, visit](bool) {
        if (visit->refusal) {
          auto attempt = http::refused_attempt(*visit->request, *visit->refusal);
          if (attempt) note_refused(*visit->request, *std::move(attempt));
          return visit->then(std::move(visit->refusal));
        }
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

/// Not 200: nobody knows, since another server may lead.
http::Response WebService::find_token(std::string_view hash, std::optional<Token>& found) {
  if (!site_.traffic().leadership.may_answer) return {.status = 503};
  const Token* const token = http::use_token(site_, hash, parts_.clock.now());
  if (token != nullptr) found = *token;
  return {};
}

http::Response WebService::take_turn(Visit& visit) {
  const http::Request& request = *visit.request;
  const http::LeadershipFacts facts = site_.traffic().leadership;
  if (auto refused = http::answer_without_lease(facts, request.path)) return *std::move(refused);
  const bool has_token = !request.token_hash.empty();
  if (has_token && http::use_token(site_, request.token_hash, parts_.clock.now()) == nullptr) {
    return http::refuse_token();
  }
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
  if (request.caller.is_limited()) {
    answered.headers["X-User"] = request.caller.name();
    answered.headers["X-Identified-By"] = request.identified_by;
  }
  // That a job's queue was not for this user is seen only here.
  if (answered.status == 403) {
    if (auto attempt = http::refused_attempt(request, answered)) {
      note_refused(request, *std::move(attempt));
    }
  }
  show_rights(request.caller, answered);
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
