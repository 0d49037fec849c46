#include "core/broker/features/activity.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/number.hpp"
#include "base/text.hpp"
#include "core/model/features/throttle_limits.hpp"
#include "http/kit/guard.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/handlers.hpp"
#include "http/routes/job_view.hpp"

/// Who has changed what.
namespace millrace::http {
namespace {

constexpr std::string_view kApiPath = "/api/v1/";
constexpr std::string_view kOperationsPath = "/api/v1/operations";

/// `queues/pause` for `/api/v1/queues/*/pause`, `stats` for `/stats`.
std::string action_of(std::string_view path) {
  path.remove_prefix(path.starts_with(kApiPath) ? kApiPath.size() : 1);
  const std::size_t star = path.find("/*");
  return star == path.npos ? std::string(path)
                           : concat(path.substr(0, star), path.substr(star + 2));
}

/// What the client says it is.
std::string client_of(const Request& request) {
  if (is_from_page(request)) return "web UI";
  const std::string_view agent = request.header("user-agent");
  return std::string(agent.substr(0, agent.find(' ')));
}

/// The page that the web UI says it shows. Any client may say anything.
std::string page_of(const Request& request) {
  const std::string_view page = request.header("x-page");
  const bool is_path = page.starts_with('/') && std::ranges::all_of(page, [](char c) {
                         return c > ' ' && c <= '~' && c != '\\';
                       });
  return is_path ? std::string(page) : std::string();
}

/// A proxy names the client that it speaks for.
std::string address_of(const Request& request) {
  const std::string_view client = request.header("x-forwarded-for");
  constexpr std::size_t kAddressBytesMax = 45;  // of an IPv6 address (RFC 4291, 2.2)
  return client.empty() ? request.from
                        : concat(cut(client, kAddressBytesMax), " by ", request.from);
}

Json show_change(AuditLog::Number number, const Change& change, WallClock clock) {
  const bool is_counted = change.outcome == ChangeOutcome::kCounted;
  return {{"number", number},
          {"at", show_time(change.at, clock)},
          {"protocol", change.protocol},
          {"from", change.from},
          {"user", change.user},
          {"how", text_or_null(change.how)},
          {"client", change.client},
          {"action", change.action},
          {"target", change.target},
          {"details", change.details},
          {"page", text_or_null(change.page)},
          {"changed", is_counted ? Json(change.count) : Json(nullptr)},
          {"is_refused", change.is_refused()},
          {"attempts", change.is_refused() ? Json(change.count) : Json(nullptr)}};
}

/// The change was made, if that is what the response says; it may come later.
Response note(Activity& activity, Response response, Change change) {
  if (response.go_on) {
    response.go_on = [&activity, change = std::move(change), go_on = std::move(response.go_on)](
                         Time now) { return note(activity, go_on(now), change); };
    return response;
  }
  if (response.status >= 300) return response;
  // What is noted is recorded, whether the change itself is or not.
  response.is_change = true;
  const Json said = Json::parse(response.body, nullptr, false);
  std::uint64_t operation = 0;
  change.details = response.changed;
  if (said.contains("phase")) {
    operation = said["id"].get<std::uint64_t>();
    change.details = said["title"].get<std::string>();
  } else if (said.contains("changed")) {
    change.count_jobs(said["changed"].get<std::uint64_t>());
  }
  // One job, since the request succeeded.
  const bool is_counted = change.outcome == ChangeOutcome::kCounted;
  if (change.action.starts_with("jobs") && !is_counted) change.count_jobs(1);
  if (change.action == "tokens/create") change.target = said["id"].get<std::string>();
  if (change.target.empty() && change.action == "jobs") change.target = to_string(said["id"]);
  activity.note(std::move(change), operation);
  return response;
}

// ---- the list -----------------------------------------------------------------------------------

/// How many changes one turn of the broker looks at.
constexpr std::size_t kChangesATurn = 250;

struct ActivitySearch {
  AuditLog::Number before = 0;
  std::size_t limit = kPageDefault;
  bool is_export = false;  ///< all that match, a line each
  std::string who;         ///< part of the user or the client; as the next ones empty: any
  std::string from;        ///< part of the address
  std::string action;      ///< its beginning
  std::string text;        ///< part of any text
  std::string page;        ///< of the web UI, whole
  std::string target;      ///< whole
  std::string refused;     ///< "1": refused attempts alone; "0": none of them
  Time since = Time::min();
  Time until = Time::max();  ///< from there on none

  [[nodiscard]] bool matches(const Change& change) const {
    const auto has = [](const std::string& part, auto... texts) {
      return part.empty() || (contains_ignoring_case(texts, part) || ...);
    };
    if (change.at < since || change.at >= until) return false;
    if (!page.empty() && change.page != page) return false;
    if (!target.empty() && change.target != target) return false;
    if (!refused.empty() && change.is_refused() != (refused == "1")) return false;
    return change.action.starts_with(action) && has(from, std::string_view(change.from)) &&
           has(who, std::string_view(change.user), std::string_view(change.client)) &&
           has(text, std::string_view(change.action), std::string_view(change.target),
               std::string_view(change.details), std::string_view(change.user),
               std::string_view(change.client), std::string_view(change.from),
               std::string_view(change.page));
  }
};

/// Milliseconds since 1970, by the wall clock. False: the parameter is not that.
bool read_time(const Call& call, const char* name, Time& to) {
  const std::string_view text = call.request.param(name);
  if (text.empty()) return true;
  const auto ms = parse_number<std::uint64_t>(text);
  if (ms) to = time_of_ms(*ms, call.site.broker.view().wall_clock());
  return ms.has_value();
}

Outcome<ActivitySearch> read_search(const Call& call) {
  const auto text = [&](const char* name) { return std::string(call.request.param(name)); };
  ActivitySearch search{.before = call.site.broker.view().audit_log().end(),
                        .who = text("who"),
                        .from = text("from"),
                        .action = text("action"),
                        .text = text("text"),
                        .page = text("page"),
                        .target = text("target"),
                        .refused = text("refused")};
  const Outcome<std::size_t> limit = read_limit(call.request);
  if (!limit) return limit.error();
  search.limit = *limit;
  const std::string format = text("format");
  if (!format.empty() && format != "json" && format != "ndjson") {
    return Problem{"format is not json or ndjson"};
  }
  const std::string_view accepted = call.request.header("accept");
  search.is_export =
      format.empty() ? accepted.starts_with("application/x-ndjson") : format == "ndjson";
  if (!search.refused.empty() && search.refused != "0" && search.refused != "1") {
    return Problem{"refused is not 0 or 1"};
  }
  if (!read_time(call, "since_ms", search.since) || !read_time(call, "until_ms", search.until)) {
    return Problem{"since_ms or until_ms is not a number of milliseconds"};
  }
  const std::string_view cursor = call.request.param("cursor");
  if (cursor.empty()) return search;
  const auto before = parse_number<AuditLog::Number>(cursor);
  if (!before) return Problem{kWrongCursor};
  search.before = *before;
  return search;
}

/// A list that is being made.
struct ActivityListing {
  const Site& site;
  Scope scope;
  ActivitySearch search;  ///< from `before` on, what is not looked at yet
  Json rows = Json::array();
  std::string lines;
  Json next = nullptr;

  /// What the user has done, and what was done to a queue that it may see. Others may name foreign
  /// queues in their details.
  [[nodiscard]] bool is_seen(const Change& change) const {
    if (scope.is_all()) return true;
    // Such an entry has names that others have tried too.
    if (change.is_refused() && change.action == "login") return false;
    if (change.user == scope.user()) return true;
    const std::string_view action = change.action;
    const bool is_of_queue = action.starts_with("queues/") ||
                             (action.starts_with("throttles/") && !is_type_name(change.target));
    return is_of_queue && scope.has(change.target);
  }

  void add(AuditLog::Number number, const Change& change) {
    const WallClock clock = site.broker.view().wall_clock();
    if (search.is_export) return void(lines += audit_line(number, change, clock));
    Json row = show_change(number, change, clock);
    const BulkChanges::Progress* const running =
        change.outcome == ChangeOutcome::kMade
            ? site.bulks.find(site.broker.activity().operation_of(number))
            : nullptr;
    if (running != nullptr) row["changed"] = running->changed;
    row["is_running"] = running != nullptr;
    rows.push_back(std::move(row));
  }

  /// One turn. True: it was the last one.
  bool work() {
    bool is_over = true;
    std::size_t left = kChangesATurn;
    site.broker.view().audit_log().each_before(
        search.before, [&](AuditLog::Number number, const Change& change) {
          // One further than what is shown: there is a next page.
          if (!search.is_export && rows.size() == search.limit) {
            next = std::to_string(number + 1);
            return false;
          }
          if (left == 0) {
            is_over = false;
            return false;
          }
          --left;
          search.before = number;
          if (is_seen(change) && search.matches(change)) add(number, change);
          return true;
        });
    return is_over;
  }
};

// Shared by the copies of a function: it can only have what can be copied.
Response go_on_listing_activity(const std::shared_ptr<ActivityListing>& listing) {
  if (!listing->work()) {
    return {.go_on = [listing](Time) { return go_on_listing_activity(listing); }};
  }
  if (!listing->search.is_export) {
    return {.body =
                dump({{"changes", std::move(listing->rows)}, {"next", std::move(listing->next)}})};
  }
  return {.type = "application/x-ndjson",
          .body = std::move(listing->lines),
          .headers = {{"Content-Disposition", "attachment; filename=\"millrace-audit.ndjson\""}}};
}

}  // namespace

// ---- what is noted ------------------------------------------------------------------------------

Change change_of(const Request& request) {
  const std::string_view name = request.caller.name();
  return {.protocol = "http",
          .from = address_of(request),
          .user = name.empty() ? user_of(request) : std::string(name),
          .how = request.identified_by,
          .client = client_of(request),
          .action = {},
          .target = {},
          .details = {},
          .page = page_of(request)};
}

Response note_change(const Call& call, std::string_view path, Response response) {
  Change change = change_of(call.request);
  change.at = call.moment.now;
  change.action = action_of(path);
  change.target = call.name;
  if (path == kTokensPath) change.action += "/create";
  // What it does, and of a whole queue to which.
  if (path == kOperationsPath) {
    change.action += '/' + read_text(call.request.members, "action");
    change.target = read_text(call.request.members, "queue");
  }
  return note(call.site.broker.activity(), std::move(response), std::move(change));
}

std::optional<Change> refused_attempt(const Request& request, const Response& refusal) {
  Change change = change_of(request);
  const bool is_wrong = refusal.status == 401 && !request.header("authorization").empty();
  const bool is_by_proxy = refusal.status == 401 && request.identified_by == "proxy";
  if (is_wrong || is_by_proxy || refusal.is_wrong_login) {
    change.action = "login";
    // Some clients send a token as the name.
    if (change.user.find(kTokenPrefix) != change.user.npos) change.user = "a token";
    change.details = is_by_proxy                        ? "a header that the proxy alone may send"
                     : request.identified_by == "token" ? "wrong token"
                                                        : "wrong password";
    return change;
  }
  const NamedPath path = path_of(request);
  const bool is_read_only = refusal.headers.contains("X-Read-Only");
  const bool lacks_right = refusal.status == 403 && request.caller.is_limited();
  if (!(is_read_only || lacks_right) || path.pattern.empty()) return std::nullopt;
  change.action = action_of(path.pattern);
  change.target = path.name;
  change.details = is_read_only ? "the web port is read-only"
                                : Json::parse(refusal.body, nullptr, false).value("error", "");
  return change;
}

std::string audit_line(AuditLog::Number number, const Change& change, WallClock clock) {
  return dump(show_change(number, change, clock)) + '\n';
}

Json show_last_change(const Site& site, std::string_view target,
                      std::initializer_list<std::string_view> kinds) {
  Json shown = nullptr;
  site.broker.view().audit_log().each_of(target, [&](AuditLog::Number, const Change& change) {
    const std::string_view action = change.action;
    const bool is_of_kind =
        std::ranges::find(kinds, action.substr(0, action.find('/'))) != kinds.end();
    if (change.is_refused() || !is_of_kind) return true;
    shown = {{"at", show_time(change.at, site.broker.view().wall_clock())},
             {"action", change.action},
             {"details", change.details},
             {"user", change.user},
             {"client", change.client},
             {"from", change.from}};
    return false;
  });
  return shown;
}

Response list_activity(const Call& call, const Scope& scope) {
  Outcome<ActivitySearch> search = read_search(call);
  if (!search) return refuse(400, search.error().text);
  // Shared: see there.
  auto listing = std::make_shared<ActivityListing>(
      ActivityListing{.site = call.site, .scope = scope, .search = *std::move(search)});
  return go_on_listing_activity(listing);
}

}  // namespace millrace::http
