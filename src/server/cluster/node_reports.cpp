#include "server/cluster/node_reports.hpp"

#include <algorithm>
#include <utility>

namespace millrace::server {

void NodeReports::take(http::NodeReport report, std::uint64_t stored, Time now) {
  std::erase_if(heard_, [&](const auto& each) { return now - each.second.at > kForgottenAfter; });
  if (heard_.size() >= kNodesMax && !heard_.contains(report.node)) return;
  Heard& heard = heard_[report.node];
  heard.at = now;
  heard.node.lag_messages = stored - std::min(report.applied, stored);
  heard.node.told = std::move(report);
}

std::vector<http::ClusterNode> NodeReports::list(Time now) const {
  std::vector<http::ClusterNode> nodes;
  for (const auto& [name, heard] : heard_) {
    const Duration silence = std::max(now - heard.at, Duration{});
    if (silence > kForgottenAfter) continue;
    http::ClusterNode& node = nodes.emplace_back(heard.node);
    node.heard_seconds = std::chrono::duration<double>(silence).count();
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
