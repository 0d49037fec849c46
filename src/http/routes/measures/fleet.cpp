#include "http/routes/measures/fleet.hpp"

#include <algorithm>
#include <vector>

#include "http/kit/text.hpp"

namespace millrace::http {
namespace {

std::string joined(const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) text += concat(text.empty() ? "" : ", ", label);
  return text;
}

}  // namespace

const Fleet::Known* Fleet::find(std::string_view wid) const {
  const auto found = workers_.find(wid);
  return found == workers_.end() ? nullptr : &found->second;
}

void Fleet::work(Broker& broker, Time now) {
  if (now < next_) return;
  const Workers& workers = broker.view().workers();
  auto worker = workers.upper_bound(place_);
  for (std::size_t i = 0; i < kWorkersATurn && worker != workers.end(); ++i, ++worker) {
    place_ = worker->first;
    look_at(worker->second, broker, now);
  }
  const bool is_over = worker == workers.end();
  next_ = now + (is_over ? kInterval : kTurnPause);
  if (is_over) end_round(now);
}

void Fleet::look_at(const Worker& worker, Broker& broker, Time now) {
  workers_[worker.wid] = {.hostname = worker.hostname, .pid = worker.pid, .seen_at = now};
  const std::string labels = joined(worker.labels);
  const auto known = labels_.find(labels);
  const bool is_new = known == labels_.end();
  if (is_new && labels_.size() == kLabelsMax) return;
  if (is_new && knows_labels_ && !labels.empty()) {
    broker.activity().note({.at = now,
                            .protocol = "faktory",
                            .from = {},
                            .client = worker.wid,
                            .action = "workers/deploy",
                            .target = labels,
                            .details = concat("first on ", worker.hostname)});
  }
  labels_[labels] = now;
}

void Fleet::end_round(Time now) {
  place_.clear();
  // While nobody is connected, nothing is forgotten: then the same workers come back.
  const bool is_connected = std::ranges::any_of(
      labels_, [&](const auto& each) { return now - each.second <= kInterval; });
  if (is_connected) {
    std::erase_if(labels_, [&](const auto& each) { return now - each.second > kLabelsKept; });
    knows_labels_ = true;
  }
  if (workers_.size() <= kWorkersMax) return;
  std::vector<Time> seen;
  for (const auto& [wid, known] : workers_) seen.push_back(known.seen_at);
  std::ranges::nth_element(seen, seen.begin() + kWorkersMax, std::greater());
  const Time last_forgotten = seen[kWorkersMax];
  std::erase_if(workers_, [&](const auto& each) { return each.second.seen_at <= last_forgotten; });
}

Json Fleet::save() const {
  Json workers = Json::array();
  for (const auto& [wid, known] : workers_) {
    workers.push_back({wid, known.hostname, known.pid, known.seen_at.time_since_epoch().count()});
  }
  Json labels = Json::array();
  for (const auto& [text, seen_at] : labels_) labels.push_back(text);
  return {{"workers", std::move(workers)}, {"labels", std::move(labels)}};
}

Fleet Fleet::load(const Json& saved, Time now) {
  Fleet fleet;
  for (const Json& each : saved.at("workers")) {
    fleet.workers_[each.at(0)] = {.hostname = each.at(1),
                                  .pid = each.at(2),
                                  .seen_at = Time{Duration{each.at(3).get<Time::rep>()}}};
  }
  for (const Json& each : saved.at("labels")) fleet.labels_[each] = now;
  fleet.knows_labels_ = !fleet.labels_.empty();
  return fleet;
}

}  // namespace millrace::http
