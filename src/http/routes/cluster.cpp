#include "http/kit/cluster.hpp"

#include <algorithm>
#include <string_view>

#include "base/text.hpp"
#include "http/routes/handlers.hpp"

/// The servers that share a log.
namespace millrace::http {
namespace {

Json number_or_null(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

/// `nats` of `nats://n1:4222,n2:4222/jobs`
std::string_view kind_of(std::string_view url) {
  return url.substr(0, url.find("://")) == "nats" ? "nats" : "postgresql";
}

/// `ports` as the node told them: `web=n1:7420`; or `local-web=127.0.0.1:7420` of a port on
/// loopback. Words that are about no port have no address.
Json show_addresses(std::string_view ports) {
  constexpr std::string_view kLocal = "local-";
  Json shown = Json::object();
  while (!ports.empty()) {
    std::string_view each = take_word(ports);
    if (each.starts_with(kLocal)) each.remove_prefix(kLocal.size());
    const std::size_t equals = each.find('=');
    const std::string_view name = each.substr(0, equals);
    const std::string_view address = each.substr(std::min(equals + 1, each.size()));
    if (equals != each.npos && address.find(':') != address.npos) {
      shown[std::string(name)] = address;
    }
  }
  return shown;
}

Json show_words(std::string_view words) {
  Json shown = Json::array();
  while (!words.empty()) shown.push_back(take_word(words));
  return shown;
}

Json show_nodes(const std::vector<ClusterNode>& nodes) {
  Json all = Json::array();
  for (const ClusterNode& each : nodes) {
    all.push_back({{"node", each.told.node},
                   {"role", each.leads ? "leader" : "standby"},
                   {"version", each.told.version},
                   {"addresses", show_addresses(each.told.ports)},
                   {"applied", each.told.applied},
                   {"lag_messages", each.lag_messages},
                   {"lag_seconds", number_or_null(each.told.lag_seconds)},
                   {"heard_seconds", each.heard_seconds},
                   {"is_silent", each.heard_seconds > kSilentAfterSeconds},
                   {"has_namesake", each.has_namesake},
                   {"problem", text_or_null(each.told.problem)}});
    if (!each.told.out_of_reach.empty()) {
      all.back()["out_of_reach"] = show_words(each.told.out_of_reach);
    }
  }
  return all;
}

const char* cause_of(const SharedJournal::Takeover& takeover) {
  if (!takeover.gap) return "first";
  return takeover.was_handed_over ? "handed_over" : "lease_over";
}

Json show_takeovers(const std::vector<SharedJournal::Takeover>& takeovers, WallClock clock) {
  Json all = Json::array();
  for (auto each = takeovers.rbegin(); each != takeovers.rend(); ++each) {
    all.push_back({{"at", show_time(each->at, clock)},
                   {"epoch", static_cast<std::uint64_t>(each->epoch)},
                   {"from", text_or_null(each->from)},
                   {"to", text_or_null(each->to)},
                   {"cause", cause_of(*each)},
                   {"gap_seconds", each->gap ? Json(seconds_of(*each->gap)) : Json(nullptr)}});
  }
  return all;
}

Json show_lease(const SharedJournal::Figures& log) {
  return {{"seconds", seconds_of(log.lease)},
          {"left_seconds", log.lease_left ? Json(seconds_of(*log.lease_left)) : Json(nullptr)}};
}

Json show_engine(const ClusterFacts& facts, const SharedJournal::Figures& log) {
  return {{"kind", kind_of(facts.log_url)},
          {"url", facts.log_url},
          {"is_reachable", facts.leadership.problem.empty()},
          {"problem", text_or_null(facts.leadership.problem)},
          {"last_append_seconds", seconds_of(log.last_append)},
          {"in_flight", log.in_flight},
          {"refused", log.refused},
          {"unknown", log.unknown},
          {"cache_bytes", log.cache_bytes}};
}

}  // namespace

Response show_cluster(const Call& call) {
  const ClusterFacts facts = call.site.cluster();
  if (!facts.leadership.log) return {.body = dump({{"cluster", nullptr}})};
  const SharedJournal::Figures& log = *facts.leadership.log;
  const WallClock clock = call.site.broker.view().wall_clock();
  return {.body = dump({{"cluster",
                         {{"leader", text_or_null(facts.leadership.leader)},
                          {"epoch", facts.leadership.epoch},
                          {"lease", show_lease(log)},
                          {"engine", show_engine(facts, log)},
                          {"nodes", show_nodes(facts.nodes)},
                          {"takeovers", show_takeovers(facts.takeovers, clock)}}}})};
}

}  // namespace millrace::http
