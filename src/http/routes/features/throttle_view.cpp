#include "http/routes/features/throttle_view.hpp"

#include <optional>

#include "core/state/throttle/lines.hpp"
#include "http/kit/text.hpp"

namespace millrace::http {
namespace {

Json number_or_null(std::uint32_t number) {
  return number == 0 ? Json(nullptr) : Json(number);
}

/// How many jobs may begin now; of a queue that is not there yet, those that its limits allow.
Json show_free(const Throttle& throttle, Time now) {
  std::optional<std::uint64_t> free;
  if (!throttle.by_hand || throttle.is_in_force()) {
    free = throttle.free(now);
  } else {
    Throttle unused;
    unused.limits = *throttle.by_hand;
    unused.full_at = throttle.full_at;
    free = unused.free(now);
  }
  return free ? Json(*free) : Json(nullptr);
}

/// How long runs of the queue hold their slots: those since the start of the process.
Json show_held_time(const Queue* queue, double part) {
  if (queue == nullptr || !queue->meter) return nullptr;
  return show_length(queue->meter->run.quantile(part));
}

/// As `4 of 4`; empty: it lets a job through.
std::string reached_limit(const Throttle& throttle, Time now) {
  const ThrottleLimits& limits = throttle.limits;
  if (throttle.is_counting) return "while its running jobs are counted";
  if (throttle.is_lining_up) return "while its jobs are lined up by key";
  if (limits.concurrency != 0 && throttle.taken() >= limits.concurrency) {
    return concat(throttle.taken(), " of ", limits.concurrency);
  }
  if (!throttle.has_room(now)) return concat(limits.rate_count, " per ", limits.rate_s, " s");
  return {};
}

}  // namespace

std::uint64_t running_count(const Throttle& throttle, const Queue* queue) {
  if (queue == nullptr || throttle.limits.has_slots()) return throttle.taken();
  return queue->reserved_count;
}

std::string throttled_by(const Queue& queue, Time now) {
  if (queue.throttle == nullptr) return {};
  const Throttle& throttle = *queue.throttle;
  const ThrottleLimits& limits = throttle.limits;
  if (const std::string reached = reached_limit(throttle, now); !reached.empty()) return reached;
  if (limits.per_key != 0 && queue.lines->is_blocked()) {
    return concat(limits.per_key, " of each key");
  }
  // Clients wait though a job is ready: each of them is of a worker that has all it may have.
  const bool are_workers_full =
      limits.worker != 0 && !queue.ready.empty() && !queue.waiting.empty();
  return are_workers_full ? concat(limits.worker, " in each worker") : std::string();
}

std::string held_by(const Job& job, const WorkUnitFormat::Type& type, const View& view, Time now) {
  const Throttle* throttle = view.throttles().table().find(concat(kTypePrefix, type.name));
  if (throttle == nullptr)
    throttle = view.throttles().table().find(concat(kTypePrefix, type.wrapper));
  const std::string reached = throttle == nullptr ? std::string() : reached_limit(*throttle, now);
  if (!reached.empty()) return concat("type ", throttle->jobtype(), " ", reached);
  const Queue& queue = view.queues().at(job.queue);
  if (queue.throttle == nullptr || queue.throttle->limits.per_key == 0 || !job.features) return {};
  const JobKey* const key = queue.lines->find(job.features->key());
  const std::uint32_t most = queue.throttle->limits.per_key;
  if (key == nullptr || key->text.empty() || key->taken < most) return {};
  return concat("key ", key->text, " ", key->taken, " of ", most);
}

Json show_limits(const ThrottleLimits& limits) {
  return {{"concurrency", number_or_null(limits.concurrency)},
          {"worker", number_or_null(limits.worker)},
          {"per_key", number_or_null(limits.per_key)},
          {"timeout_s", number_or_null(limits.timeout_s)},
          {"rate_count", number_or_null(limits.rate_count)},
          {"rate_s", number_or_null(limits.rate_s)}};
}

Json show_rule(const ThrottleRule& rule) {
  return {{"pattern", rule.pattern}, {"limits", show_limits(rule.limits)}};
}

Json show_throttle(const Throttle& throttle, const View& view, Time now) {
  const std::string& name = throttle.name;
  const bool is_type = throttle.is_type;
  const Queue* const queue = is_type ? nullptr : view.queues().find(name);
  const ThrottleRule* const rule = view.throttles().rules().rule_of(name);
  std::string throttled = is_type ? reached_limit(throttle, now) : std::string();
  if (queue != nullptr) throttled = throttled_by(*queue, now);
  const bool has_keys = queue != nullptr && throttle.limits.per_key != 0;
  const bool is_rate_of_type = is_type && !throttle.limits.has_slots();
  return {{"name", name},
          {"queue", is_type ? Json(nullptr) : Json(name)},
          {"type", is_type ? Json(throttle.jobtype()) : Json(nullptr)},
          {"limits", show_limits(throttle.by_hand.value_or(throttle.limits))},
          {"is_by_hand", throttle.by_hand.has_value()},
          {"rule", rule == nullptr ? Json(nullptr) : show_rule(*rule)},
          {"taken", is_rate_of_type ? Json(nullptr) : Json(running_count(throttle, queue))},
          {"free", show_free(throttle, now)},
          {"throttled", text_or_null(throttled)},
          {"ready", is_type ? Json(nullptr) : Json(queue == nullptr ? 0 : queue->ready.size())},
          {"waiting", is_type ? Json(nullptr) : Json(queue == nullptr ? 0 : queue->waiting.size())},
          {"keys", has_keys ? Json(queue->lines->key_count()) : Json(nullptr)},
          {"held", throttle.held},
          {"overage", throttle.overage},
          {"reclaimed", throttle.reclaimed},
          {"held_p50_s", show_held_time(queue, 0.5)},
          {"held_p95_s", show_held_time(queue, 0.95)}};
}

}  // namespace millrace::http
