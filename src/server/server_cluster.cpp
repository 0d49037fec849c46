#include <algorithm>
#include <chrono>
#include <utility>

#include "engines/log_url.hpp"
#include "server/cluster/node_reports.hpp"
#include "server/relay/leader_address.hpp"
#include "server/server.hpp"

/// What the servers that share a log know of each other.
namespace millrace::server {
namespace {

double as_seconds(Duration duration) {
  return std::chrono::duration<double>(std::max(duration, Duration{})).count();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

http::LeadershipFacts Server::leadership() const {
  if (shared_ == nullptr) return {};
  const Time now = clock_.now();
  http::LeadershipFacts facts{
      .node = options_.config.node,
      .relayed = relay_ ? relay_->relayed_count() : 0,
      .takeovers = options_.takeovers + (has_taken_over() ? 1 : 0),
      .log = shared_->figures(),
      .problem = shared_->problem(),
      .out_of_reach = has_taken_over() ? std::vector<std::string>{} : out_of_reach()};
  if (const auto leader = shared_->leader()) {
    facts.epoch = static_cast<std::uint64_t>(leader->epoch);
    facts.since_takeover_seconds = as_seconds(now - leader->claimed_at);
    if (!leader->has_released) facts.leader = leader->node;
  }
  if (has_taken_over()) {
    facts.may_answer = shared_->may_answer();
    facts.nodes = 1 + node_reports_.count(now);
  } else if (shared_->latest_time() > Time{}) {
    facts.lag_seconds = as_seconds(now - shared_->latest_time());
  }
  return facts;
}

http::NodeReport Server::own_report() const {
  const http::LeadershipFacts facts = leadership();
  return {.node = options_.config.node,
          .instance = instance_,
          .epoch = facts.epoch,
          .version = MILLRACE_VERSION,
          .ports = options_.own_ports,
          .applied = facts.log->applied,
          .lag_seconds = facts.lag_seconds,
          .problem = facts.problem,
          .out_of_reach = joined(facts.out_of_reach)};
}

/// The ports of the leader to which this server passes no clients on, or sends no reports.
std::vector<std::string> Server::out_of_reach() const {
  if (relay_) return relay_->out_of_reach();
  return node_reporter_.is_out_of_reach() ? std::vector<std::string>{"web"}
                                          : std::vector<std::string>{};
}

http::ClusterFacts Server::cluster() const {
  if (shared_ == nullptr) return {};
  http::ClusterFacts facts{.leadership = leadership(),
                           .log_url = engines::shown_url(options_.config.log),
                           .nodes = {{.told = own_report(), .leads = true}},
                           .takeovers = shared_->takeovers()};
  const Time now = clock_.now();
  for (http::ClusterNode& each : node_reports_.list(now)) facts.nodes.push_back(std::move(each));
  add_dead_leaders(facts, now);
  return facts;
}

/// One of a server that follows another leader is of no use, and one of a namesake neither.
void Server::take_report(http::NodeReport report) {
  if (!has_taken_over() || report.node == options_.config.node) return;
  if (report.epoch != static_cast<std::uint64_t>(journal_->epoch())) return;
  const Time now = clock_.now();
  const std::string node = report.node;
  const bool has_namesake = node_reports_.take(std::move(report), shared_->figures().applied, now);
  if (has_namesake) notices_.name_used_twice(node, now);
}

void Server::report(Time now, const std::optional<SharedJournal::Leader>& leader) {
  std::optional<Address> address;
  if (leader && !leader->has_released && !leader->holds && leader->node != options_.config.node) {
    // Others would take the signature for a wrong password.
    const bool is_read = takes_reports_of(leader->notes, options_.own_ports);
    if (is_read) address = find_leader_port(leader->notes, options_.own_ports, "web");
    notices_.leader_out_of_reach(leader->node, joined(out_of_reach()), now);
    notices_.leader_not_trusted(leader->node, node_reporter_.distrust(), now);
  }
  node_reporter_.work(address, now, [this] {
    std::string text = encode(own_report());
    std::string signature = report_key_.sign(text);
    return NodeReporter::Signed{
        .report = std::move(text), .signature = std::move(signature), .tls = options_.secrets.tls};
  });
}

const std::string& Server::web_password() const {
  const std::string& own = options_.config.web_password;
  return own.empty() ? options_.secrets.password : own;
}

}  // namespace millrace::server
