#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/broker_fixture.hpp"

namespace millrace::test {

inline constexpr ThrottleLimits kTwo{.concurrency = 2, .timeout_s = 60};

/// Rules for queues of exactly these names.
inline ThrottleRules rules_of(std::vector<ThrottleRule> list) {
  ThrottleRules rules{.list = list, .find = {}};
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

  /// The job that was delivered to a client that waited, once everything that is due was done.
  std::optional<JobId> got(ClientId client) {
    settle();
    const auto delivery = delivered(client);
    if (!delivery || delivery->kind != Delivery::Kind::kJob) return std::nullopt;
    return delivery->job;
  }

  [[nodiscard]] const Throttle& throttle(std::string_view queue = "default") const {
    const Throttle* const found = broker.view().throttle_of(queue);
    CHECK(found != nullptr);
    return *found;
  }

 private:
  int pushed_ = 0;
};

}  // namespace millrace::test
