#include "server/cluster/dead_leaders.hpp"

#include <algorithm>
#include <chrono>

#include "server/cluster/node_reports.hpp"

namespace millrace::server {

void add_dead_leaders(http::ClusterFacts& facts, Time now) {
  // The newest first, since a name is listed once.
  for (auto each = facts.takeovers.rbegin(); each != facts.takeovers.rend(); ++each) {
    const bool has_died = !each->was_handed_over && !each->from.empty();
    const Duration silence = std::max(now - each->at, Duration{});
    if (!has_died || silence > NodeReports::kForgottenAfter) continue;
    const auto is_it = [&](const http::ClusterNode& node) { return node.told.node == each->from; };
    if (std::any_of(facts.nodes.begin(), facts.nodes.end(), is_it)) continue;
    facts.nodes.push_back({.told = {.node = each->from},
                           .heard_seconds = std::chrono::duration<double>(silence).count()});
  }
}

}  // namespace millrace::server
