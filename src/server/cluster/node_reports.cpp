#include "server/cluster/node_reports.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"

namespace millrace::server {
namespace {

/// Keeps the key apart from all else that is made of a password. All nodes have the same.
constexpr std::string_view kSalt = "millrace node report 2";
constexpr std::uint64_t kCost = 32 * 1024;
constexpr std::uint64_t kBlocks = 8;
constexpr std::uint64_t kMemoryMax = 64 * 1024 * 1024;
constexpr std::string_view kForm = "2:";

}  // namespace

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

std::string hmac_of(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
             &size) != nullptr);
  return hex_of({reinterpret_cast<const char*>(digest.data()), size});
}

ReportKey::ReportKey(std::string_view password) {
  if (password.empty()) return;
  CHECK(EVP_PBE_scrypt(password.data(), password.size(),
                       reinterpret_cast<const unsigned char*>(kSalt.data()), kSalt.size(), kCost,
                       kBlocks, 1, kMemoryMax, key_.data(), key_.size()) == 1);
}

std::string ReportKey::sign(std::string_view report) const {
  const std::string_view key(reinterpret_cast<const char*>(key_.data()), key_.size());
  return std::string(kForm) + hmac_of(key, report);
}

}  // namespace millrace::server
