#include "server/cluster/node_reports.hpp"

#include <algorithm>
#include <utility>

namespace millrace::server {

/// A server that starts again is another one from then on, and the former one is never heard of
/// again. Of two that run at the same time, each is heard of after the other.
void NodeReports::Heard::note(std::uint64_t instance, Time now) {
  if (!instances.empty() && instances.back() == instance) return;
  if (std::erase(instances, instance) > 0) last_return = now;
  if (instances.size() == kInstancesMax) instances.erase(instances.begin());
  instances.push_back(instance);
}

bool NodeReports::Heard::has_namesake(Time now) const {
  return last_return != Time::min() &&
         now - last_return <= std::chrono::duration<double>(http::kSilentAfterSeconds);
}

bool NodeReports::take(http::NodeReport report, std::uint64_t stored, Time now) {
  std::erase_if(heard_, [&](const auto& each) { return now - each.second.at > kForgottenAfter; });
  if (heard_.size() >= kNodesMax && !heard_.contains(report.node)) return false;
  Heard& heard = heard_[report.node];
  heard.at = now;
  heard.note(report.instance, now);
  heard.node.lag_messages = stored - std::min(report.applied, stored);
  heard.node.told = std::move(report);
  return heard.has_namesake(now);
}

std::vector<http::ClusterNode> NodeReports::list(Time now) const {
  std::vector<http::ClusterNode> nodes;
  for (const auto& [name, heard] : heard_) {
    const Duration silence = std::max(now - heard.at, Duration{});
    if (silence > kForgottenAfter) continue;
    http::ClusterNode& node = nodes.emplace_back(heard.node);
    node.heard_seconds = std::chrono::duration<double>(silence).count();
    node.has_namesake = heard.has_namesake(now);
  }
  return nodes;
}

std::size_t NodeReports::count(Time now) const {
  const std::vector<http::ClusterNode> nodes = list(now);
  return static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), [](const auto& each) {
    return each.heard_seconds <= http::kSilentAfterSeconds;
  }));
}

}  // namespace millrace::server
