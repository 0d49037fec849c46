#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/broker_fixture.hpp"

namespace millrace::test {

inline constexpr ThrottleLimits kTwo{.concurrency = 2, .timeout_s = 60};

/// Rules for queues and types of exactly these names.
inline ThrottleRules rules_of(std::vector<ThrottleRule> list) {
  ThrottleRules rules{.list = list, .find = {}, .types = {}};
  for (const ThrottleRule& rule : list) {
    if (is_type_name(rule.pattern)) rules.types.push_back(rule.pattern);
  }
  rules.has_types = !rules.types.empty();
  rules.find = [list = std::move(list)](std::string_view queue) -> const ThrottleRule* {
    for (const ThrottleRule& rule : list) {
      if (rule.pattern == queue) return &rule;
    }
    return nullptr;
  };
  return rules;
}

/// A broker that limits the queue `default`.
class ThrottleFixture : public BrokerFixture {
 public:
  explicit ThrottleFixture(const ThrottleLimits& limits) { limit(limits); }

  void limit(const ThrottleLimits& limits) { limit({{.pattern = "default", .limits = limits}}); }
  void limit(std::vector<ThrottleRule> list) {
    broker.admin().set_throttle_rules(rules_of(std::move(list)), now);
    settle();
  }

  /// A connection of that worker.
  ClientId worker(std::string_view wid) {
    const ClientId id = client();
    CHECK(broker.workers().add(id, {.wid = std::string(wid), .hostname = {}, .labels = {}}, now));
    return id;
  }

  void push_many(int count, std::string_view queue = "default") {
    for (int i = 0; i < count; ++i) push("jid=" + std::to_string(++pushed_), queue);
  }

  /// A job of that type, with that key; either may be empty. Its jid counts from 1.
  JobId push_one(std::string_view type, std::string_view key, std::string_view queue = "default") {
    const std::string jid = std::to_string(++pushed_);
    const std::string body = "jid=" + jid + ",type=" + std::string(type) + ",";
    NewJob job{.kind = JobKind::kWorkUnit, .queue = queue, .ttr_s = 1800};
    if (!key.empty()) job.features.emplace().throttle_key = std::string(key);
    return put(body, std::move(job));
  }

  /// A worker ends its run of the job.
  void ack(ClientId client, JobId id) {
    CHECK(broker.workers().ack(client, format.identify(job(id)).jid, now));
  }

  /// The job that was delivered to a client that waited, once everything that is due was done.
  std::optional<JobId> got(ClientId client) {
    settle();
    const auto delivery = delivered(client);
    if (!delivery || delivery->kind != Delivery::Kind::kJob) return std::nullopt;
    return delivery->job;
  }

  [[nodiscard]] const Throttle& throttle(std::string_view queue = "default") const {
    const Throttle* const found = broker.view().throttles().table().find(queue);
    CHECK(found != nullptr);
    return *found;
  }

 private:
  int pushed_ = 0;
};

}  // namespace millrace::test
