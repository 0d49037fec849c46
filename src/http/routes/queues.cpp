#include "base/text.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/features/throttle_view.hpp"
#include "http/routes/handlers.hpp"
#include "http/routes/job_view.hpp"
#include "http/routes/queue_view.hpp"

/// Queues, which the beanstalk protocol calls tubes.
namespace millrace::http {
namespace {

const Queue* find_queue(const Call& call) {
  return call.site.broker.view().queues().find(call.name);
}

Response say_gone() {
  return refuse(404, "there is no such queue");
}

Response pause(const Call& call, std::optional<std::uint32_t> seconds) {
  const auto paused = call.site.broker.admin().pause(call.name, seconds, call.moment.now);
  if (!paused && paused.error() == Refusal::kNoRoom) return refuse_for_room();
  if (!paused) return say_gone();
  std::string how = seconds ? concat("for ", *seconds, " s") : std::string("until it is resumed");
  return {.body = dump({{"name", call.name}, {"is_paused", seconds != 0u}}),
          .is_change = true,
          .changed = seconds == 0u ? std::string() : std::move(how)};
}

Response sweep(const Call& call, BulkChanges::Request request) {
  if (find_queue(call) == nullptr) return say_gone();
  const Outcome<BulkChanges::Bounds> bounds = read_bounds(call.request.members);
  if (!bounds) return refuse(400, bounds.error().text);
  request.bounds = *bounds;
  return begin_operation(call, std::move(request));
}

}  // namespace

namespace {

/// How long half and 95 % of its jobs waited and ran at most, since the start of the process.
void show_times(const QueueMeter* meter, Json& shown) {
  const auto show = [&](const char* name, Histogram QueueMeter::*times, double part) {
    shown[name] = meter == nullptr ? Json(nullptr) : show_length((meter->*times).quantile(part));
  };
  show("wait_p50_s", &QueueMeter::wait, 0.5);
  show("wait_p95_s", &QueueMeter::wait, 0.95);
  show("run_p50_s", &QueueMeter::run, 0.5);
  show("run_p95_s", &QueueMeter::run, 0.95);
}

}  // namespace

Response show_queue(const Call& call) {
  const Queue* queue = find_queue(call);
  if (queue == nullptr) return say_gone();
  const View& view = call.site.broker.view();
  Json shown = show_figures(figures_of(*queue, view, call.moment.now), view.wall_clock());
  shown["users"] = queue->user_count;
  shown["watchers"] = queue->watcher_count;
  shown["waiting"] = queue->waiting.size();
  show_times(queue->meter.get(), shown);
  shown["workers"] = show_servers(*queue, view, call.moment.now);
  shown["is_kept"] = queue->is_kept;
  shown["last_change"] =
      show_last_change(call.site, queue->name, {"queues", "throttles", "operations"});
  shown["throttle"] = queue->throttle == nullptr
                          ? Json(nullptr)
                          : show_throttle(*queue->throttle, view, call.moment.now);
  return {.body = dump(shown)};
}

Response pause_queue(const Call& call) {
  const Json& members = call.request.members;
  const auto seconds = members.find("seconds");
  if (seconds == members.end() || seconds->is_null()) return pause(call, std::nullopt);
  if (!seconds->is_number_unsigned() || *seconds < 1 || *seconds > UINT32_MAX) {
    return refuse(400, "seconds is not a number from 1 to 4294967295");
  }
  return pause(call, seconds->get<std::uint32_t>());
}

Response resume_queue(const Call& call) {
  return pause(call, 0);
}

Response clear_queue(const Call& call) {
  return sweep(call, {.states = {JobState::kReady},
                      .queue = call.name,
                      .action = Mutation::Action::kDiscard,
                      .title = concat("clear ", call.name)});
}

Response delete_queue(const Call& call) {
  return sweep(call, {.states = {JobState::kReady, JobState::kScheduled, JobState::kRetrying,
                                 JobState::kDead},
                      .queue = call.name,
                      .action = Mutation::Action::kDiscard,
                      .forgets_queue = true,
                      .title = concat("delete queue ", call.name)});
}

}  // namespace millrace::http
