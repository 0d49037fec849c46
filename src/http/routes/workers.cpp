#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/number.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/handlers.hpp"

/// Worker processes of Faktory clients, and connections of beanstalk clients.
namespace millrace::http {
namespace {

/// How many reservations one request looks at to count the jobs of each worker.
constexpr std::size_t kReservationsCounted = 5000;

/// How many of its watched tubes are named with a connection, and of its queues with a worker: in a
/// list, and on its own.
constexpr std::size_t kTubesShownMax = 20;
constexpr std::size_t kQueuesOfWorkerMax = 1000;

const char* name_of(Worker::State state) {
  switch (state) {
    case Worker::State::kRunning:
      return "running";
    case Worker::State::kQuiet:
      return "quiet";
    case Worker::State::kTerminate:
      return "stopping";
  }
  return "";
}

/// A worker may say any number of it.
std::int64_t memory_bytes(const Worker& worker) {
  constexpr std::int64_t kKilobyte = 1024;
  constexpr std::int64_t kKilobytesMax = std::numeric_limits<std::int64_t>::max() / kKilobyte;
  return std::clamp<std::int64_t>(worker.rss_kb, 0, kKilobytesMax) * kKilobyte;
}

/// Since it connected, over all its connections.
void show_runs(const Worker& worker, const Clients& clients, Time now, Json& shown) {
  WorkerMeter runs = worker.former_runs;
  for (const ClientId id : worker.clients) runs.add(clients.at(id).runs);
  shown["processed"] = runs.processed.total;
  shown["failed"] = runs.failed.total;
  shown["processed_per_s"] = show_rate(runs.processed.rate.per_second(now));
  shown["failed_per_s"] = show_rate(runs.failed.rate.per_second(now));
  shown["busy_s"] = show_length(runs.busy);
}

/// The names of the queues that it serves, as many as are shown, and how many there are.
void show_queues(const Worker& worker, Time now, Json& shown, std::size_t shown_max) {
  Json names = Json::array();
  std::size_t count = 0;
  for (const auto& [name, asked_at] : worker.queues.all()) {
    if (!ServedQueues::is_served(asked_at, now)) continue;
    if (++count <= shown_max) names.push_back(name);
  }
  shown["queues"] = std::move(names);
  shown["queue_count"] = count;
}

Json show(const Worker& worker, std::uint64_t jobs, const Site& site, Time now,
          std::size_t queues_max = kTubesShownMax) {
  const View& view = site.broker.view();
  const WallClock clock = view.wall_clock();
  const StuckWorkers::Stuck* const stuck = site.stuck.find(worker.wid);
  Json shown{{"wid", worker.wid},
             {"hostname", worker.hostname},
             {"pid", worker.pid},
             {"labels", worker.labels},
             {"rss_bytes", memory_bytes(worker)},
             {"state", name_of(worker.state)},
             {"jobs", jobs},
             {"stuck_since", stuck == nullptr ? Json(nullptr) : show_time(stuck->since, clock)},
             {"connections", worker.clients.size()},
             {"started_at", show_time(worker.started_at, clock)},
             {"last_beat_at", show_time(worker.last_beat, clock)}};
  show_runs(worker, view.clients(), now, shown);
  show_queues(worker, now, shown, queues_max);
  return shown;
}

Json show(const Client& client, const View& view) {
  Json watched = Json::array();
  for (const QueueId id : client.watched) {
    if (watched.size() < kTubesShownMax) watched.push_back(view.queues().at(id).name);
  }
  const TimeOrder* held = view.orders().held_by(client.id);
  return {{"client", client.id},
          {"used", client.used ? Json(view.queues().at(*client.used).name) : Json(nullptr)},
          {"watched", std::move(watched)},
          {"watched_count", client.watched.size()},
          {"is_waiting", client.wait.has_value()},
          {"jobs", held == nullptr ? 0U : held->size()}};
}

/// By wid. False: there are too many to count, and each may have more.
using JobsOfWorkers = absl::flat_hash_map<std::string_view, std::uint64_t>;
bool count_jobs(const View& view, JobsOfWorkers& jobs) {
  const auto count = [&jobs](const Job& job) {
    ++jobs[job.reservation()->wid];
    return true;
  };
  return !view.jobs().scan({.state = JobState::kReserved}, {}, kReservationsCounted, count).next;
}

/// Up to `limit` connections with an id above `after`, in the order of their ids.
std::vector<ClientId> page_of(const Clients& clients, ClientId after, std::size_t limit) {
  std::vector<ClientId> ids;
  for (const auto& [id, client] : clients) {
    if (id > after) ids.push_back(id);
  }
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(std::min(limit, ids.size()));
  // Connections are in a hash table. Only the page is sorted.
  std::partial_sort(ids.begin(), end, ids.end());
  ids.erase(end, ids.end());
  return ids;
}

/// Tells one worker by `wid`, or with `all` every worker that was there at `as_of`.
Response tell(const Call& call, Worker::State state) {
  const Json& members = call.request.members;
  const std::string wid = read_text(members, "wid");
  const auto all = members.find("all");
  const bool is_all = all != members.end() && all->is_boolean() && all->get<bool>();
  // Exactly one of the two: a forgotten wid must not stop all workers.
  if (wid.empty() != is_all) return refuse(400, "name one worker by wid, or say all");
  const Outcome<BulkChanges::Bounds> bounds = read_bounds(members);
  if (!bounds) return refuse(400, bounds.error().text);
  std::vector<std::string> wids{wid};
  if (is_all) {
    wids.clear();
    for (const auto& [each, worker] : call.site.broker.view().workers()) {
      // Workers that came after the person looked are not meant.
      if (worker.started_at <= bounds->counted_at) wids.push_back(each);
    }
  }
  std::uint64_t told = 0;
  for (const std::string& each : wids) {
    if (call.site.broker.admin().order_worker(each, state, call.moment.now)) ++told;
  }
  if (!is_all && told == 0) return refuse(404, "no connected worker has this wid");
  return {.body = dump({{"told", told}}),
          .is_change = true,
          .changed = is_all ? concat("all ", told, " workers") : wid};
}

}  // namespace

Response list_workers(const Call& call) {
  const View& view = call.site.broker.view();
  const Outcome<std::size_t> limit = read_limit(call.request);
  if (!limit) return refuse(400, limit.error().text);
  const std::string_view wanted = call.request.param("stuck");
  const bool is_stuck_only = wanted == "1";
  if (!wanted.empty() && !is_stuck_only) return refuse(400, "stuck is not 1");
  JobsOfWorkers jobs;
  const bool are_counted = count_jobs(view, jobs);
  Json workers = Json::array();
  Json next = nullptr;
  const Workers& all = view.workers();
  auto place = all.upper_bound(std::string(call.request.param("cursor")));
  for (; place != all.end() && workers.size() < *limit; ++place) {
    if (is_stuck_only && call.site.stuck.find(place->first) == nullptr) continue;
    workers.push_back(show(place->second, jobs[place->first], call.site, call.moment.now));
  }
  if (place != all.end()) next = workers.back()["wid"];
  return {.body = dump({{"workers", std::move(workers)},
                        {"total", all.size()},
                        {"are_jobs_counted", are_counted},
                        {"next", std::move(next)}})};
}

Response show_worker(const Call& call) {
  const Workers& all = call.site.broker.view().workers();
  const auto worker = all.find(call.name);
  if (worker == all.end()) return refuse(404, "no connected worker has this wid");
  JobsOfWorkers jobs;
  const bool are_counted = count_jobs(call.site.broker.view(), jobs);
  Json shown =
      show(worker->second, jobs[call.name], call.site, call.moment.now, kQueuesOfWorkerMax);
  shown["are_jobs_counted"] = are_counted;
  return {.body = dump(shown)};
}

Response quiet_workers(const Call& call) {
  return tell(call, Worker::State::kQuiet);
}

Response stop_workers(const Call& call) {
  return tell(call, Worker::State::kTerminate);
}

Response list_connections(const Call& call) {
  const View& view = call.site.broker.view();
  const Outcome<std::size_t> limit = read_limit(call.request);
  if (!limit) return refuse(400, limit.error().text);
  const std::string_view cursor = call.request.param("cursor");
  const auto after = cursor.empty() ? std::optional<ClientId>(0) : parse_number<ClientId>(cursor);
  if (!after) return refuse(400, kWrongCursor);
  Json connections = Json::array();
  const std::vector<ClientId> ids = page_of(view.clients(), *after, *limit);
  for (const ClientId id : ids) {
    const Client& client = view.client(id);
    // Every beanstalk connection uses a tube, no Faktory one does.
    if (client.used) connections.push_back(show(client, view));
  }
  return {.body = dump(
              {{"connections", std::move(connections)},
               {"total", call.site.traffic().beanstalk_connections},
               {"next", ids.size() == *limit ? Json(std::to_string(ids.back())) : Json(nullptr)}})};
}

}  // namespace millrace::http
