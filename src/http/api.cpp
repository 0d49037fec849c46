#include <array>

#include "http/guard.hpp"
#include "http/handlers.hpp"

namespace millrace::http {
namespace {

using Handler = Response (*)(const Call&);

/// `*` in a path stands for a name, which may hold slashes. The first row that fits is taken, so
/// longer paths stand before shorter ones.
struct Route {
  const char* method;
  std::string_view path;
  Handler handle;
};

constexpr std::array kRoutes = {
    Route{"GET", "/api/v1/overview", show_overview},
    Route{"GET", "/api/v1/trend", show_trend},
    Route{"GET", "/api/v1/history", show_history},
    Route{"GET", "/api/v1/server", show_server},
    Route{"GET", "/api/v1/queues", list_queues},
    Route{"POST", "/api/v1/queues/*/pause", pause_queue},
    Route{"POST", "/api/v1/queues/*/resume", resume_queue},
    Route{"POST", "/api/v1/queues/*/clear", clear_queue},
    Route{"POST", "/api/v1/queues/*/delete", delete_queue},
    Route{"GET", "/api/v1/queues/*", show_queue},
    Route{"GET", "/api/v1/jobs", list_jobs},
    Route{"POST", "/api/v1/jobs", push_job},
    Route{"GET", "/api/v1/jobs/count", count_jobs},
    Route{"POST", "/api/v1/jobs/change", change_jobs},
    Route{"GET", "/api/v1/jobs/*/body", show_body},
    Route{"POST", "/api/v1/jobs/*/retry", retry_job},
    Route{"POST", "/api/v1/jobs/*/kill", kill_job},
    Route{"POST", "/api/v1/jobs/*/delete", delete_job},
    Route{"GET", "/api/v1/jobs/*", show_job},
    Route{"GET", "/api/v1/errors", list_errors},
    Route{"GET", "/api/v1/operations", list_operations},
    Route{"POST", "/api/v1/operations", start_operation},
    Route{"POST", "/api/v1/operations/*/cancel", cancel_operation},
    Route{"GET", "/api/v1/operations/*", show_operation},
    Route{"GET", "/api/v1/workers", list_workers},
    Route{"POST", "/api/v1/workers/quiet", quiet_workers},
    Route{"POST", "/api/v1/workers/stop", stop_workers},
    Route{"GET", "/api/v1/connections", list_connections},
    Route{"GET", "/metrics", show_metrics},
    Route{"GET", "/stats", show_stats},
    Route{"GET", "/health", show_health},
};

/// What the route's `*` stands for in the path; nullopt when they do not fit.
std::optional<std::string> match(std::string_view route, std::string_view path) {
  const std::size_t star = route.find('*');
  if (star == std::string_view::npos) {
    return path == route ? std::optional(std::string()) : std::nullopt;
  }
  const std::string_view head = route.substr(0, star);
  const std::string_view tail = route.substr(star + 1);
  if (path.size() <= head.size() + tail.size()) return std::nullopt;
  if (!path.starts_with(head) || !path.ends_with(tail)) return std::nullopt;
  return std::string(path.substr(head.size(), path.size() - head.size() - tail.size()));
}

}  // namespace

Response answer(Site& site, const Request& request, const Moment& moment) {
  const std::string_view method =
      request.method == "HEAD" ? std::string_view("GET") : request.method;
  bool is_known = false;
  for (const Route& route : kRoutes) {
    std::optional<std::string> name = match(route.path, request.path);
    if (!name) continue;
    is_known = true;
    if (method != route.method) continue;
    if (is_change(request) && site.traffic().is_stopping) {
      return refuse(503, "the server stops, and changes nothing any more");
    }
    return route.handle(
        {.site = site, .request = request, .moment = moment, .name = std::move(*name)});
  }
  return is_known ? refuse(405, "not by " + request.method) : refuse(404, "no such page");
}

}  // namespace millrace::http
