#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "base/text.hpp"
#include "http/kit/guard.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/handlers.hpp"

namespace millrace::http {
namespace {

/// How much of an unknown name an error repeats.
constexpr std::size_t kNameShownMax = 100;

using Handler = Response (*)(const Call&);

/// `*` in a path stands for a name; see `kNamePaths`. The first row that fits is taken, so longer
/// paths come before shorter ones. `names` are the parameters of a GET, or the
/// members of a POST's body, with spaces between them. Others are refused: a misspelt filter that
/// was ignored would change every job.
struct Route {
  const char* method;
  std::string_view path;
  Handler handle;
  std::string_view names = {};
  /// Reads a body that is not made of such members.
  std::optional<Problem> (*read)(const Site& site, Request& request) = nullptr;
};

/// For routes that programs read, with any parameters of their own.
constexpr std::string_view kAnyName = "*";
/// Parameters that may be empty, which means from the beginning.
constexpr std::string_view kPlaceNames = "cursor from since";
constexpr std::string_view kListNames =
    "state order limit cursor queue bid type id error group text arg wid client older_than_s "
    "failed_since_ms failed_until_ms";
constexpr std::string_view kCountNames =
    "state cursor breakdown queue bid type id error group text arg wid client older_than_s "
    "failed_since_ms failed_until_ms";
constexpr std::string_view kBoundNames = "as_of at_most";
constexpr std::string_view kLimitNames = "concurrency worker per_key timeout_s rate_count rate_s";
constexpr std::string_view kOperationNames =
    "action states to spread_s queue bid type id error group text arg wid client older_than_s "
    "failed_since_ms failed_until_ms as_of at_most";

constexpr std::string_view kPushPath = "/api/v1/jobs";
constexpr std::string_view kCheckPath = "/api/v1/jobs/check";

bool has_job(std::string_view path) {
  return path == kPushPath || path == kCheckPath;
}

/// Paths with names that people gave. They may have slashes; numbers and wids of workers have none.
constexpr std::array<std::string_view, 4> kNamePaths = {"/api/v1/queues/", "/api/v1/cron/",
                                                        "/api/v1/throttles/", "/api/v1/jids/"};

constexpr std::array kRoutes = {
    Route{"GET", "/api/v1/overview", show_overview},
    Route{"GET", "/api/v1/trend", show_trend, "since"},
    Route{"GET", "/api/v1/series", show_series, "span queue type group"},
    Route{"GET", "/api/v1/history", show_history, "days"},
    Route{"GET", "/api/v1/server", show_server},
    Route{"GET", "/api/v1/cluster", show_cluster},
    Route{"GET", "/api/v1/queues", list_queues, "sort order match limit cursor from recent"},
    Route{"POST", "/api/v1/queues/*/pause", pause_queue, "seconds"},
    Route{"POST", "/api/v1/queues/*/resume", resume_queue},
    Route{"POST", "/api/v1/queues/*/clear", clear_queue, kBoundNames},
    Route{"POST", "/api/v1/queues/*/delete", delete_queue, kBoundNames},
    Route{"GET", "/api/v1/queues/*", show_queue},
    Route{"GET", kPushPath, list_jobs, kListNames},
    Route{"POST", kPushPath, push_job, {}, prepare_push},
    Route{"POST", kCheckPath, check_job, {}, prepare_check},
    Route{"GET", "/api/v1/jobs/count", count_jobs, kCountNames},
    Route{"POST", "/api/v1/jobs/change", change_jobs, "action ids state to"},
    Route{"GET", "/api/v1/jobs/*/body", show_body},
    Route{"POST", "/api/v1/jobs/*/retry", retry_job, "state"},
    Route{"POST", "/api/v1/jobs/*/kill", kill_job, "state"},
    Route{"POST", "/api/v1/jobs/*/move", move_job, "state to"},
    Route{"POST", "/api/v1/jobs/*/delete", delete_job, "state"},
    Route{"GET", "/api/v1/jobs/*", show_job},
    Route{"GET", "/api/v1/jids/*", find_named},
    Route{"GET", "/api/v1/finished", list_finished,
          "limit cursor queue type outcome wid ended_since_ms ended_until_ms"},
    Route{"GET", "/api/v1/finished/*", show_finished_job},
    Route{"GET", "/api/v1/cron", list_cron, "limit cursor"},
    Route{"POST", "/api/v1/cron/*/run", run_cron},
    Route{"POST", "/api/v1/cron/*/pause", pause_cron},
    Route{"POST", "/api/v1/cron/*/resume", resume_cron},
    Route{"GET", "/api/v1/cron/*", show_cron},
    Route{"GET", "/api/v1/throttles", list_throttles, "limit cursor"},
    Route{"GET", "/api/v1/throttle-rules", list_throttle_rules, "limit cursor"},
    Route{"POST", "/api/v1/throttles/*/set", set_throttle, kLimitNames},
    Route{"POST", "/api/v1/throttles/*/reset", reset_throttle},
    Route{"GET", "/api/v1/throttles/*", show_throttle_of},
    Route{"GET", "/api/v1/locks", list_locks, "limit cursor queue type"},
    Route{"POST", "/api/v1/locks/*/free", free_lock},
    Route{"GET", "/api/v1/batches", list_batches, "state parent limit cursor"},
    Route{"POST", "/api/v1/batches/*/retry", retry_batch, kBoundNames},
    Route{"POST", "/api/v1/batches/*/discard", discard_batch, kBoundNames},
    Route{"POST", "/api/v1/batches/*/accept", accept_batch, "at_most"},
    Route{"POST", "/api/v1/batches/*/delete", delete_batch},
    Route{"GET", "/api/v1/batches/*", show_batch},
    Route{"GET", "/api/v1/errors", list_errors, "match queue type muted limit cursor"},
    Route{"POST", "/api/v1/errors/*/mute", mute_error, "seconds jobs"},
    Route{"POST", "/api/v1/errors/*/unmute", unmute_error},
    Route{"POST", "/api/v1/errors/*/note", note_error, "text was"},
    Route{"GET", "/api/v1/errors/*", show_error},
    Route{"GET", "/api/v1/types", list_types, "type"},
    Route{"GET", "/api/v1/alerts", list_alerts},
    Route{"POST", "/api/v1/alerts/*/silence", silence_alert, "seconds"},
    Route{"POST", "/api/v1/alerts/*/unsilence", unsilence_alert},
    Route{"POST", "/api/v1/alerts/*/test", test_alert},
    Route{"GET", "/api/v1/activity", list_activity, "limit cursor"},
    Route{"GET", "/api/v1/operations", list_operations},
    Route{"POST", "/api/v1/operations", start_operation, kOperationNames},
    Route{"POST", "/api/v1/operations/*/cancel", cancel_operation},
    Route{"GET", "/api/v1/operations/*", show_operation},
    Route{"GET", "/api/v1/workers", list_workers, "limit cursor stuck"},
    Route{"POST", "/api/v1/workers/quiet", quiet_workers, "wid all as_of"},
    Route{"POST", "/api/v1/workers/stop", stop_workers, "wid all as_of"},
    Route{"GET", "/api/v1/workers/*", show_worker},
    Route{"GET", "/api/v1/connections", list_connections, "limit cursor"},
    Route{"GET", "/metrics", show_metrics, kAnyName},
    Route{"GET", "/stats", show_stats, kAnyName},
    Route{"GET", "/health", show_health, kAnyName},
    Route{"GET", "/health/leader", show_health_of_leader, kAnyName},
};

/// The name that the route's `*` stands for; nullopt: the path is not one of this
/// route.
std::optional<std::string> match(std::string_view route, std::string_view path) {
  const std::size_t star = route.find('*');
  if (star == std::string_view::npos) {
    return path == route ? std::optional(std::string()) : std::nullopt;
  }
  const std::string_view head = route.substr(0, star);
  const std::string_view tail = route.substr(star + 1);
  // A name is never empty.
  if (path.size() <= head.size() + tail.size()) return std::nullopt;
  if (!path.starts_with(head) || !path.ends_with(tail)) return std::nullopt;
  path = path.substr(head.size(), path.size() - head.size() - tail.size());
  const bool is_name = std::find(kNamePaths.begin(), kNamePaths.end(), head) != kNamePaths.end();
  if (!is_name && path.find('/') != path.npos) return std::nullopt;
  // Clients take a part of a path that is `.` or `..`, escaped or not, for a step in it. So what
  // has one of these names goes by another one, which nothing has.
  if (is_name && path == "%2E") return ".";
  if (is_name && path == "%2E%2E") return "..";
  return std::string(path);
}

bool is_among(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(' '), names.size());
    if (names.substr(0, end) == name) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

/// A parameter that the route does not know, or that says nothing.
std::optional<Problem> find_unknown_parameter(const Route& route, const Request& request) {
  const std::string_view names = is_change(request) ? std::string_view() : route.names;
  if (names == kAnyName) return std::nullopt;
  if (request.has_broken_escape) return Problem{"in the address is a % without two digits"};
  for (auto each = request.params.begin(); each != request.params.end(); ++each) {
    const std::string_view name = cut(each->first, kNameShownMax);
    if (!is_among(names, each->first)) return Problem{concat("no such parameter: ", name)};
    // Which of the two is meant nobody knows, and a wrong guess may change jobs.
    if (request.params.count(each->first) > 1) return Problem{concat(name, " is there twice")};
    if (each->second.empty() && !is_among(kPlaceNames, name)) {
      return Problem{concat(name, " is empty: leave it out")};
    }
  }
  return std::nullopt;
}

std::optional<Problem> take_members(const Route& route, Request& request) {
  Outcome<Json> members = read_members(request.body);
  if (!members) return members.error();
  for (const auto& member : members->items()) {
    if (is_among(route.names, member.key())) continue;
    return Problem{concat("no such member: ", cut(member.key(), kNameShownMax))};
  }
  request.members = *std::move(members);
  return std::nullopt;
}

struct Found {
  const Route* route = nullptr;  ///< null: no such page, or not by this method
  std::string name;              ///< what its `*` stands for
  /// The methods of such a page, of the rows before the found one. Names with a slash do not count:
  /// a client that asks for /queues/mail/explode does not mean a queue of that name.
  std::string allowed;
};

std::string_view methods_of(const Route& route) {
  return route.method == std::string_view("GET") ? "GET, HEAD" : route.method;
}

Found find_route(const Request& request) {
  const std::string_view method =
      request.method == "HEAD" ? std::string_view("GET") : request.method;
  Found found;
  for (const Route& route : kRoutes) {
    std::optional<std::string> name = match(route.path, request.path);
    if (!name) continue;
    if (method == route.method) {
      found.route = &route;
      found.name = *std::move(name);
      return found;
    }
    if (name->find('/') != name->npos) continue;
    const std::string_view methods = methods_of(route);
    if (found.allowed.find(methods) != std::string::npos) continue;
    found.allowed += concat(found.allowed.empty() ? "" : ", ", methods);
  }
  return found;
}

Response refuse_way(const Found& found, const Request& request) {
  return refuse_method(found.allowed, "not by " + request.method);
}

}  // namespace

std::optional<Response> prepare(const Site& site, Request& request) {
  const Found found = find_route(request);
  if (found.route == nullptr) {
    return found.allowed.empty() ? refuse(404, "no such page") : refuse_way(found, request);
  }
  std::optional<Problem> problem = find_unknown_parameter(*found.route, request);
  if (!problem && is_change(request)) {
    problem =
        found.route->read ? found.route->read(site, request) : take_members(*found.route, request);
  }
  return problem ? std::optional(refuse(400, problem->text)) : std::nullopt;
}

Response answer(Site& site, const Request& request, const Moment& moment) {
  if (is_change(request)) {
    const TrafficFacts traffic = site.traffic();
    if (traffic.is_stopping) return refuse(503, "the server is stopping and accepts no changes");
    // Changes that were asked for earlier wait. One that is asked for now is refused at once.
    if (traffic.is_stalled) return refuse(503, "the disk does not respond: nothing was changed");
    const auto instance = request.headers.find("x-instance");
    if (instance != request.headers.end() && instance->second != site.facts.instance) {
      return refuse(409, "X-Instance is of a different server process: nothing was changed");
    }
  }
  Found found = find_route(request);
  // `prepare` has looked, on another thread.
  CHECK(found.route != nullptr);
  const Call call{
      .site = site, .request = request, .moment = moment, .name = std::move(found.name)};
  Response response = found.route->handle(call);
  // Programs push all the time: that is no news. What a person pushes is.
  const std::string_view path = found.route->path;
  const bool is_news = !has_job(path) || (path == kPushPath && is_from_page(request));
  if (is_change(request) && is_news) response = note_change(call, path, std::move(response));
  // GET /queues/mail/pause means the queue `mail/pause` only if there is one.
  if (response.status == 404 && !found.allowed.empty()) return refuse_way(found, request);
  return response;
}

std::size_t body_bytes_max(const Request& request, std::size_t job_bytes_max) {
  // Only a pushed job may be large. Other bodies are a few names and numbers.
  return has_job(request.path) ? job_bytes_max : kMembersBytesMax;
}

}  // namespace millrace::http
