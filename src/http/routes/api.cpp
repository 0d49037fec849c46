#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <variant>

#include "base/check.hpp"
#include "base/text.hpp"
#include "core/model/features/throttle_limits.hpp"
#include "http/kit/guard.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/handlers.hpp"

namespace millrace::http {
namespace {

/// How much of an unknown name an error repeats.
constexpr std::size_t kNameShownMax = 100;

using Handler = Response (*)(const Call&);

// Where a user needs the right of a route. There is no default: a route that says nothing of it
// does not compile.

/// Nowhere: everybody is answered, also without a login.
struct Open {
  explicit constexpr Open(Handler h) : handle(h) {}
  Handler handle;
};

/// Nowhere: every user is answered who has logged in, but no token, with which one that leaks could
/// make others.
struct OfUser {
  explicit constexpr OfUser(Handler h) : handle(h) {}
  Handler handle;
};

/// For all queues: the answer is not cut to what a user may see, or the change concerns all.
struct Whole {
  explicit constexpr Whole(Handler h) : handle(h) {}
  Handler handle;
};

/// For the queue that the path names. What limits a type (`type:Mail`) concerns all queues.
struct OfQueue {
  explicit constexpr OfQueue(Handler h) : handle(h) {}
  Handler handle;
};

/// For the queue of what the path names. Who may not see that one is told what is said of one that
/// does not exist.
struct Owned {
  constexpr Owned(const Owner& o, Handler h) : owner(&o), handle(h) {}
  const Owner* owner;
  Handler handle;
};

/// For any queue: the handler cuts its answer, or what it changes, to the scope.
struct Cut {
  explicit constexpr Cut(Response (*h)(const Call&, const Scope&)) : handle(h) {}
  Response (*handle)(const Call&, const Scope&);
};

/// The same, with the queues found that are in the scope.
struct CutByQueues {
  explicit constexpr CutByQueues(ScopedHandler h) : handle(h) {}
  ScopedHandler handle;
};

using Reach = std::variant<Open, OfUser, Whole, OfQueue, Owned, Cut, CutByQueues>;

/// `*` in a path stands for a name; see `kNamePaths`. The first row that fits is taken, so longer
/// paths come before shorter ones. `names` are the parameters of a GET, or the
/// members of a POST's body, with spaces between them. Others are refused: a misspelt filter that
/// was ignored would change every job.
struct Route {
  access::Right needed;
  const char* method;
  std::string_view path;
  Reach reach;
  std::string_view names = {};
  /// Reads a body that is not made of such members.
  std::optional<Problem> (*read)(const Site& site, Request& request) = nullptr;
};

/// For routes that programs read, with any parameters of their own.
constexpr std::string_view kAnyName = "*";
/// Parameters that may be empty, which means from the beginning.
constexpr std::string_view kPlaceNames = "cursor from since";
constexpr std::string_view kListNames =
    "state order limit cursor queue bid type id error group text arg wid client older_than_s q "
    "failed_since_ms failed_until_ms";
constexpr std::string_view kCountNames =
    "state cursor breakdown queue bid type id error group text arg wid client older_than_s q "
    "failed_since_ms failed_until_ms";
constexpr std::string_view kBoundNames = "as_of at_most";
constexpr std::string_view kLimitNames = "concurrency worker per_key timeout_s rate_count rate_s";
constexpr std::string_view kOperationNames =
    "action states to spread_s queue bid type id error group text arg wid client older_than_s q "
    "failed_since_ms failed_until_ms as_of at_most";

constexpr std::string_view kPushPath = "/api/v1/jobs";
constexpr std::string_view kCheckPath = "/api/v1/jobs/check";

bool has_job(std::string_view path) {
  return path == kPushPath || path == kCheckPath;
}

/// Paths with names that people gave. They may have slashes; numbers and wids of workers have none.
constexpr std::array<std::string_view, 5> kNamePaths = {
    "/api/v1/queues/", "/api/v1/cron/", "/api/v1/throttles/", "/api/v1/jids/", "/api/v1/views/"};

constexpr auto kView = access::Right::kView;
constexpr auto kPush = access::Right::kPush;
constexpr auto kOperate = access::Right::kOperate;
constexpr auto kAdmin = access::Right::kAdmin;

constexpr std::array kRoutes = {
    Route{kView, "GET", "/api/v1/overview", CutByQueues{show_overview}},
    Route{kView, "GET", "/api/v1/trend", Whole{show_trend}, "since"},
    Route{kView, "GET", "/api/v1/series", Cut{show_series},
          "span since_ms until_ms queue type group"},
    Route{kView, "GET", "/api/v1/history", Whole{show_history}, "days"},
    Route{kView, "GET", "/api/v1/server", Whole{show_server}},
    Route{kView, "GET", "/api/v1/cluster", Whole{show_cluster}},
    Route{kView, "GET", "/api/v1/queues", CutByQueues{list_queues},
          "sort order match limit cursor from recent"},
    Route{kOperate, "POST", "/api/v1/queues/*/pause", OfQueue{pause_queue}, "seconds"},
    Route{kOperate, "POST", "/api/v1/queues/*/resume", OfQueue{resume_queue}},
    Route{kOperate, "POST", "/api/v1/queues/*/clear", OfQueue{clear_queue}, kBoundNames},
    Route{kOperate, "POST", "/api/v1/queues/*/delete", OfQueue{delete_queue}, kBoundNames},
    Route{kView, "GET", "/api/v1/queues/*", OfQueue{show_queue}},
    Route{kView, "GET", kPushPath, CutByQueues{list_jobs}, kListNames},
    Route{kPush, "POST", kPushPath, Cut{push_job}, {}, prepare_push},
    Route{kPush, "POST", kCheckPath, Cut{check_job}, {}, prepare_check},
    Route{kView, "GET", "/api/v1/jobs/count", CutByQueues{count_jobs}, kCountNames},
    Route{kOperate, "POST", "/api/v1/jobs/change", Cut{change_jobs}, "action ids state to"},
    Route{kView, "GET", "/api/v1/jobs/*/body", Owned{kJobOwner, show_body}},
    Route{kOperate, "POST", "/api/v1/jobs/*/retry", Owned{kJobOwner, retry_job}, "state"},
    Route{kOperate, "POST", "/api/v1/jobs/*/kill", Owned{kJobOwner, kill_job}, "state"},
    Route{kOperate, "POST", "/api/v1/jobs/*/move", Owned{kJobOwner, move_job}, "state to"},
    Route{kOperate, "POST", "/api/v1/jobs/*/delete", Owned{kJobOwner, delete_job}, "state"},
    Route{kView, "GET", "/api/v1/jobs/*", Owned{kJobOwner, show_job}},
    Route{kView, "GET", "/api/v1/jids/*", CutByQueues{find_named}},
    Route{kView, "GET", "/api/v1/finished", CutByQueues{list_finished},
          "limit cursor queue type outcome wid ended_since_ms ended_until_ms"},
    Route{kView, "GET", "/api/v1/finished/*", Owned{kFinishedOwner, show_finished_job}},
    Route{kView, "GET", "/api/v1/cron", Cut{list_cron}, "limit cursor"},
    Route{kPush, "POST", "/api/v1/cron/*/run", Owned{kCronOwner, run_cron}},
    Route{kOperate, "POST", "/api/v1/cron/*/pause", Owned{kCronOwner, pause_cron}},
    Route{kOperate, "POST", "/api/v1/cron/*/resume", Owned{kCronOwner, resume_cron}},
    Route{kView, "GET", "/api/v1/cron/*", Owned{kCronOwner, show_cron}},
    Route{kView, "GET", "/api/v1/throttles", Cut{list_throttles}, "limit cursor"},
    Route{kView, "GET", "/api/v1/throttle-rules", Whole{list_throttle_rules}, "limit cursor"},
    Route{kOperate, "POST", "/api/v1/throttles/*/set", OfQueue{set_throttle}, kLimitNames},
    Route{kOperate, "POST", "/api/v1/throttles/*/reset", OfQueue{reset_throttle}},
    Route{kView, "GET", "/api/v1/throttles/*", OfQueue{show_throttle_of}},
    Route{kView, "GET", "/api/v1/locks", Cut{list_locks}, "limit cursor queue type"},
    Route{kOperate, "POST", "/api/v1/locks/*/free", Owned{kJobOwner, free_lock}},
    Route{kView, "GET", "/api/v1/batches", Whole{list_batches}, "state parent limit cursor"},
    Route{kOperate, "POST", "/api/v1/batches/*/retry", Whole{retry_batch}, kBoundNames},
    Route{kOperate, "POST", "/api/v1/batches/*/discard", Whole{discard_batch}, kBoundNames},
    Route{kOperate, "POST", "/api/v1/batches/*/accept", Whole{accept_batch}, "at_most"},
    Route{kOperate, "POST", "/api/v1/batches/*/delete", Whole{delete_batch}},
    Route{kView, "GET", "/api/v1/batches/*", Whole{show_batch}},
    Route{kView, "GET", "/api/v1/errors", Cut{list_errors}, "match queue type muted limit cursor"},
    Route{kOperate, "POST", "/api/v1/errors/*/mute", Cut{mute_error}, "seconds jobs"},
    Route{kOperate, "POST", "/api/v1/errors/*/unmute", Cut{unmute_error}},
    Route{kOperate, "POST", "/api/v1/errors/*/note", Cut{note_error}, "text was"},
    Route{kView, "GET", "/api/v1/errors/*", Cut{show_error}},
    Route{kView, "GET", "/api/v1/types", Whole{list_types}, "type"},
    Route{kView, "GET", "/api/v1/alerts", Whole{list_alerts}},
    Route{kAdmin, "POST", "/api/v1/alerts/*/silence", Whole{silence_alert}, "seconds"},
    Route{kAdmin, "POST", "/api/v1/alerts/*/unsilence", Whole{unsilence_alert}},
    Route{kAdmin, "POST", "/api/v1/alerts/*/test", Whole{test_alert}},
    Route{kView, "GET", "/api/v1/activity", Cut{list_activity},
          "limit cursor who from action text page target since_ms until_ms refused format"},
    Route{kView, "GET", kTokensPath, OfUser{list_tokens}},
    Route{kView, "POST", kTokensPath, OfUser{make_token}, "name may queues expires_s"},
    Route{kView, "POST", "/api/v1/tokens/*/delete", OfUser{revoke_token}},
    Route{kView, "GET", "/api/v1/operations", Cut{list_operations}},
    Route{kOperate, "POST", "/api/v1/operations", Cut{start_operation}, kOperationNames},
    Route{kOperate, "POST", "/api/v1/operations/*/cancel", Cut{cancel_operation}},
    Route{kView, "GET", "/api/v1/operations/*", Cut{show_operation}},
    Route{kView, "GET", "/api/v1/views", Whole{list_views}},
    Route{kOperate, "POST", "/api/v1/views/*/set", Whole{set_view}, "query was"},
    Route{kOperate, "POST", "/api/v1/views/*/delete", Whole{delete_view}, "was"},
    Route{kView, "GET", "/api/v1/views/*", Whole{show_view}},
    Route{kView, "GET", "/api/v1/workers", Whole{list_workers}, "limit cursor stuck"},
    Route{kOperate, "POST", "/api/v1/workers/quiet", Whole{quiet_workers}, "wid all as_of"},
    Route{kOperate, "POST", "/api/v1/workers/stop", Whole{stop_workers}, "wid all as_of"},
    Route{kView, "GET", "/api/v1/workers/*", Whole{show_worker}},
    Route{kView, "GET", "/api/v1/connections", Whole{list_connections}, "limit cursor"},
    Route{kView, "GET", "/metrics", Whole{show_metrics}, kAnyName},
    Route{kView, "GET", "/stats", Whole{show_stats}, kAnyName},
    Route{kView, "GET", "/health", Open{show_health}, kAnyName},
    Route{kView, "GET", "/health/leader", Open{show_health_of_leader}, kAnyName},
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
  return refuse_method(found.allowed, request.method + " is not allowed here");
}

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

// ---- rights -------------------------------------------------------------------------------------

/// The user needs the right for one queue at least: what it may do there is seen later.
std::optional<Response> refuse_anywhere(const Route& route, const access::Caller& caller) {
  if (caller.may_anywhere(route.needed)) return std::nullopt;
  return refuse_user(caller.name(), route.needed, "any queue");
}

/// What the path alone tells.
std::optional<Response> refuse_by_path(const Found& found, const access::Caller& caller) {
  const access::Right needed = found.route->needed;
  const auto refuse_whole = [&]() -> std::optional<Response> {
    if (caller.may_everywhere(needed)) return std::nullopt;
    return refuse_user(caller.name(), needed, "all queues");
  };
  const auto refuse_queue = [&]() -> std::optional<Response> {
    if (is_type_name(found.name)) return refuse_whole();
    if (caller.may(needed, found.name)) return std::nullopt;
    return refuse_user(caller.name(), needed, found.name);
  };
  const auto refuse_part = [&] { return refuse_anywhere(*found.route, caller); };
  return std::visit(Overloaded{[](const Open&) { return std::optional<Response>(); },
                               [](const OfUser&) { return std::optional<Response>(); },
                               [&](const Whole&) { return refuse_whole(); },
                               [&](const OfQueue&) { return refuse_queue(); },
                               [&](const Owned&) { return refuse_part(); },
                               [&](const Cut&) { return refuse_part(); },
                               [&](const CutByQueues&) { return refuse_part(); }},
                    found.route->reach);
}

/// A job is moved to no queue without the right for that one, too.
std::optional<Response> refuse_target(const Route& route, const Request& request) {
  const std::string to = read_text(request.members, "to");
  if (to.empty() || request.caller.may(route.needed, to)) return std::nullopt;
  return refuse_user(request.caller.name(), route.needed, to);
}

Response handle_owned(const Owned& owned, access::Right needed, const Call& call) {
  const access::Caller& caller = call.request.caller;
  const std::optional<std::string> queue = owned.owner->queue_of(call);
  if (!queue) return owned.owner->say_gone(call);
  if (caller.may(needed, *queue)) return owned.handle(call);
  if (!caller.may(access::Right::kView, *queue)) return owned.owner->say_gone(call);
  return refuse_user(caller.name(), needed, *queue);
}

Response handle_of_user(const OfUser& of_user, const Call& call) {
  const access::Caller& caller = call.request.caller;
  if (!caller.is_limited()) {
    return refuse(409, "tokens belong to users: start the server with a users file (--users)");
  }
  if (!caller.has_token() && !caller.name().empty()) return of_user.handle(call);
  return refuse(403, "a token cannot list, make or revoke tokens: log in with a password",
                kNotAllowed);
}

/// A request that waits for the walk over the queues. It has copies of what does not live so long.
struct Waiting {
  Site& site;
  Request request;
  SystemFacts system;
  ScopedHandler handle;
  ScopeWalk walk;
};

// Shared by the copies of a function: it can only have what can be copied.
Response handle_with_queues(const std::shared_ptr<Waiting>& waiting, Time now) {
  if (!waiting->walk.work(waiting->site.broker.view(), now)) {
    return {.go_on = [waiting](Time then) { return handle_with_queues(waiting, then); }};
  }
  const Moment moment{.now = now, .system = waiting->system};
  const Call call{.site = waiting->site,
                  .request = waiting->request,
                  .moment = moment,
                  .name = find_route(waiting->request).name};
  return waiting->handle(call, waiting->walk.queues());
}

Response handle_cut(const CutByQueues& cut, Scope scope, const Call& call) {
  ScopeWalk walk(std::move(scope));
  if (walk.work(call.site.broker.view(), call.moment.now)) return cut.handle(call, walk.queues());
  Waiting waiting{.site = call.site,
                  .request = call.request,
                  .system = call.moment.system,
                  .handle = cut.handle,
                  .walk = std::move(walk)};
  // Shared: see above.
  auto shared = std::make_shared<Waiting>(std::move(waiting));
  return {.go_on = [shared](Time now) { return handle_with_queues(shared, now); }};
}

Response handle(const Route& route, const Call& call) {
  const auto scope = [&] { return Scope(call.request.caller, route.needed); };
  return std::visit(
      Overloaded{[&](const Open& open) { return open.handle(call); },
                 [&](const OfUser& of_user) { return handle_of_user(of_user, call); },
                 [&](const Whole& whole) { return whole.handle(call); },
                 [&](const OfQueue& of_queue) { return of_queue.handle(call); },
                 [&](const Owned& owned) { return handle_owned(owned, route.needed, call); },
                 [&](const Cut& cut) { return cut.handle(call, scope()); },
                 [&](const CutByQueues& cut) { return handle_cut(cut, scope(), call); }},
      route.reach);
}

}  // namespace

NamedPath path_of(const Request& request) {
  Found found = find_route(request);
  if (found.route == nullptr) return {};
  return {.pattern = found.route->path, .name = std::move(found.name)};
}

std::vector<RouteRight> route_rights() {
  std::vector<RouteRight> rows;
  for (const Route& route : kRoutes) {
    const std::string_view where = std::visit(
        Overloaded{[](const Open&) { return "nobody"; }, [](const OfUser&) { return "a user"; },
                   [](const Whole&) { return "all queues"; },
                   [](const OfQueue&) { return "this queue"; },
                   [](const Owned&) { return "its queue"; }, [](const Cut&) { return "any queue"; },
                   [](const CutByQueues&) { return "any queue"; }},
        route.reach);
    rows.push_back({route.needed, route.method, route.path, where});
  }
  return rows;
}

std::optional<Response> prepare(const Site& site, Request& request) {
  const Found found = find_route(request);
  if (found.route == nullptr) {
    return found.allowed.empty() ? refuse(404, "no such page") : refuse_way(found, request);
  }
  if (auto refused = refuse_by_path(found, request.caller)) return refused;
  std::optional<Problem> problem = find_unknown_parameter(*found.route, request);
  if (!problem && is_change(request)) {
    problem =
        found.route->read ? found.route->read(site, request) : take_members(*found.route, request);
  }
  return problem ? std::optional(refuse(400, problem->text)) : refuse_target(*found.route, request);
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
  Response response = handle(*found.route, call);
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
