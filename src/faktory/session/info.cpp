#include "faktory/session/info.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/check.hpp"
#include "core/broker/view.hpp"
#include "core/model/queue.hpp"
#include "faktory/json/timestamp.hpp"

namespace millrace::faktory {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// The queues that an FWP client knows of: those that were pushed to and not removed, and those
/// with ready jobs.
QueueSizes queue_sizes(const View& view) {
  QueueSizes sizes;
  for (const QueueId id : view.queues().listed()) {
    const Queue& queue = view.queues().at(id);
    sizes.emplace_back(queue.name, queue.ready.size());
  }
  return sizes;
}

bool is_plain(std::string_view name) {
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

/// `"name":size` of each queue, by name. The JSON library would take ten times as long for many.
std::string write_sizes(QueueSizes sizes) {
  std::sort(sizes.begin(), sizes.end());
  std::string text;
  for (const auto& [name, size] : sizes) {
    if (!text.empty()) text += ',';
    if (is_plain(name)) {
      text.append(1, '"').append(name).append(1, '"');
    } else {
      text += OrderedJson(name).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
    }
    text.append(1, ':').append(std::to_string(size));
  }
  return text;
}

OrderedJson render_sets(const View& view) {
  return {{"dead", view.orders().count(JobState::kDead)},
          {"retries", view.orders().count(JobState::kRetrying)},
          {"scheduled", view.orders().count(JobState::kScheduled)},
          {"working", view.orders().count(JobState::kReserved)}};
}

/// A periodic task of the reference. This server does nothing in cycles, so it counts none.
OrderedJson render_task(std::uint64_t enqueued, std::uint64_t size) {
  return {{"cycles", 0}, {"enqueued", enqueued}, {"size", size}, {"wall_time_sec", 0}};
}

/// The reference calls these deprecated, but its own clients still need them.
OrderedJson render_tasks(const View& view) {
  const Tally& tally = view.tally();
  OrderedJson tasks;
  tasks["Busy"] = {{"reaped", tally.reservations_expired},
                   {"size", view.orders().worker_held_count()}};
  tasks["Dead"] = render_task(tally.dead_purged, view.orders().count(JobState::kDead));
  tasks["Retries"] = render_task(tally.retries_enqueued, view.orders().count(JobState::kRetrying));
  tasks["Scheduled"] =
      render_task(tally.scheduled_enqueued, view.orders().count(JobState::kScheduled));
  tasks["Workers"] = {{"reaped", tally.workers_reaped}, {"size", view.workers().size()}};
  return tasks;
}

/// Without the queues.
OrderedJson render_jobs(const View& view, std::size_t queue_count) {
  const CountersChanged& counters = view.counters();
  OrderedJson jobs;
  jobs["queues"] = OrderedJson::object();
  jobs["sets"] = render_sets(view);
  jobs["tasks"] = render_tasks(view);
  jobs["total_failures"] = counters.failed;
  jobs["total_processed"] = counters.processed;
  jobs["total_enqueued"] = view.orders().count(JobState::kReady);
  jobs["total_queues"] = queue_count;
  return jobs;
}

OrderedJson render_server(const Shared& shared, Time now) {
  const auto uptime = std::chrono::floor<std::chrono::seconds>(now - shared.started_at);
  const auto& used_memory_mb = shared.settings.used_memory_mb;
  OrderedJson server;
  server["description"] = shared.settings.description;
  server["faktory_version"] = shared.settings.version;
  server["uptime"] = uptime.count();
  server["connections"] = shared.connection_count;
  server["command_count"] = shared.command_count;
  server["used_memory_mb"] = used_memory_mb ? used_memory_mb() : 0;
  return server;
}

}  // namespace

std::string render_info(const Shared& shared, Time now) {
  return prepare_info(shared, now, queue_sizes(shared.broker.view()))();
}

std::function<std::string()> prepare_info(const Shared& shared, Time now, QueueSizes sizes) {
  constexpr std::string_view kNoQueues = R"("queues":{)";
  OrderedJson info;
  const Time wall = shared.broker.view().wall_clock().shown(now);
  info["now"] = format_time(wall);
  info["server_utc_time"] = format_clock(wall);
  info["faktory"] = render_jobs(shared.broker.view(), sizes.size());
  info["server"] = render_server(shared, now);
  const std::string frame = info.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  // The sizes of all queues are put in as text afterwards, perhaps by another thread.
  const std::size_t queues = frame.find(kNoQueues);
  CHECK(queues != std::string::npos);
  const std::size_t inside = queues + kNoQueues.size();
  return [before = frame.substr(0, inside), sizes = std::move(sizes),
          after = frame.substr(inside)] { return before + write_sizes(sizes) + after; };
}

}  // namespace millrace::faktory
