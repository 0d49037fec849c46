#include "faktory/info.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "core/queue.hpp"
#include "core/view.hpp"
#include "faktory/timestamp.hpp"

namespace millrace::faktory {
namespace {

using Json = nlohmann::ordered_json;

/// The queues that an FWP client knows of: those that were pushed to and not removed, and those
/// with jobs in line.
std::map<std::string, std::uint64_t> queue_sizes(const View& view) {
  std::map<std::string, std::uint64_t> sizes;
  view.each_listed_queue(
      [&](const Queue& queue) { sizes.emplace(queue.name, queue.ready.size()); });
  return sizes;
}

Json render_sets(const View& view) {
  return {{"dead", view.job_count(JobState::kDead)},
          {"retries", view.job_count(JobState::kRetrying)},
          {"scheduled", view.job_count(JobState::kScheduled)},
          {"working", view.job_count(JobState::kReserved)}};
}

/// A periodic task of the reference. Here nothing is done in cycles, so there are none to count.
Json render_task(std::uint64_t enqueued, std::uint64_t size) {
  return {{"cycles", 0}, {"enqueued", enqueued}, {"size", size}, {"wall_time_sec", 0.0}};
}

/// Called deprecated by the reference, and yet needed by its own clients.
Json render_tasks(const View& view) {
  const Tally& tally = view.tally();
  Json tasks;
  tasks["Busy"] = {{"reaped", tally.reservations_expired}, {"size", view.worker_held_count()}};
  tasks["Dead"] = render_task(tally.dead_purged, view.job_count(JobState::kDead));
  tasks["Retries"] = render_task(tally.retries_enqueued, view.job_count(JobState::kRetrying));
  tasks["Scheduled"] = render_task(tally.scheduled_enqueued, view.job_count(JobState::kScheduled));
  tasks["Workers"] = {{"reaped", tally.workers_reaped}, {"size", view.workers().size()}};
  return tasks;
}

Json render_jobs(const View& view) {
  const std::map<std::string, std::uint64_t> sizes = queue_sizes(view);
  const CountersChanged& counters = view.counters();
  Json jobs;
  jobs["queues"] = Json::object();
  // Behind the library's back, since it would look for each name among all those before it.
  auto& queues = jobs["queues"].get_ref<Json::object_t&>();
  for (const auto& [name, size] : sizes) queues.Json::object_t::Container::emplace_back(name, size);
  jobs["sets"] = render_sets(view);
  jobs["tasks"] = render_tasks(view);
  jobs["total_failures"] = counters.failed;
  jobs["total_processed"] = counters.processed;
  jobs["total_enqueued"] = view.job_count(JobState::kReady);
  jobs["total_queues"] = sizes.size();
  return jobs;
}

Json render_server(const DoorState& door, Time now) {
  const auto uptime = std::chrono::floor<std::chrono::seconds>(now - door.started_at);
  const auto& used_memory_mb = door.settings.used_memory_mb;
  Json server;
  server["description"] = "Faktory";
  server["faktory_version"] = door.settings.version;
  server["uptime"] = uptime.count();
  server["connections"] = door.connection_count;
  server["command_count"] = door.command_count;
  server["used_memory_mb"] = used_memory_mb ? used_memory_mb() : 0;
  return server;
}

}  // namespace

std::string render_info(const DoorState& door, Time now) {
  Json info;
  info["now"] = format_time(now);
  info["server_utc_time"] = format_clock(now);
  info["faktory"] = render_jobs(door.broker.view());
  info["server"] = render_server(door, now);
  return info.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace millrace::faktory
