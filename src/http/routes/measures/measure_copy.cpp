#include "http/routes/measures/measure_copy.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include "base/hash.hpp"

/// The bytes are a hash of the rest, and the rest a document in the CBOR of nlohmann_json: other
/// than RFC 8949 has it, a text may be any bytes.
namespace millrace::http {
namespace {

/// To be raised when a ring or a member changes: then what earlier programs wrote is dropped.
constexpr int kVersion = 2;

std::uint64_t hash_of(std::string_view bytes) {
  Fnv1a hash;
  hash.add(bytes);
  return hash.value();
}

Time::rep number_of(Time time) {
  return time.time_since_epoch().count();
}

Time time_of(const Json& number) {
  return Time{Duration{number.get<Time::rep>()}};
}

const std::string& text_at(const Json& list, std::size_t place) {
  return list.at(place).get_ref<const std::string&>();
}

Json show_change(const Change& change) {
  return {{"at", number_of(change.at)},
          {"protocol", change.protocol},
          {"from", change.from},
          {"user", change.user},
          {"client", change.client},
          {"action", change.action},
          {"target", change.target},
          {"details", change.details},
          {"page", change.page},
          {"changed", change.changed ? Json(*change.changed) : Json(nullptr)}};
}

Change read_change(const Json& json) {
  Change change{.at = time_of(json.at("at")),
                .protocol = json.at("protocol"),
                .from = json.at("from"),
                .user = json.at("user"),
                .client = json.at("client"),
                .action = json.at("action"),
                .target = json.at("target"),
                .details = json.at("details"),
                .page = json.at("page")};
  const Json& changed = json.at("changed");
  if (!changed.is_null()) change.changed = changed.get<std::uint64_t>();
  return change;
}

}  // namespace

MeasureCopy::MeasureCopy(const Measures& measures)
    : measures_(measures),
      queues_(measures.series.queue_names()),
      types_(measures.series.type_names()),
      groups_(measures.failures.groups_since(Time::min())),
      changes_before_(measures.activity.end()),
      copy_{{"version", kVersion},       {"queues", Json::array()},
            {"types", Json::array()},    {"failures", Json::array()},
            {"activity", Json::array()}, {"alerts", measures.alerts.save()}} {
  const Line* const server = measures.series.server();
  copy_["server"] = server == nullptr ? Json(nullptr) : Json(server->save());
}

bool MeasureCopy::work() {
  // What is gone since the beginning is left out.
  const auto add = [this](const char* list, const std::string& name, const Line* line) {
    if (line != nullptr) copy_[list].push_back(Json::array({name, line->save()}));
  };
  const std::size_t types_at = queues_.size();
  const std::size_t groups_at = types_at + types_.size();
  const std::size_t end = groups_at + groups_.size();
  std::size_t left = kSlice;
  for (; left > 0 && next_ < end; --left, ++next_) {
    if (next_ < types_at) {
      add("queues", queues_[next_], measures_.series.find_queue(queues_[next_]));
    } else if (next_ < groups_at) {
      const std::string& name = types_[next_ - types_at];
      add("types", name, measures_.series.find_type(name));
    } else if (auto group = measures_.failures.save(groups_[next_ - groups_at])) {
      copy_["failures"].push_back(
          Json::array({group->number, std::move(group->name.type), std::move(group->name.message),
                       number_of(group->last_at), std::move(group->bytes)}));
    }
  }
  bool is_through = next_ == end;
  if (!is_through) return false;
  measures_.activity.each_before(changes_before_,
                                 [&](Activity::Number number, const Change& change) {
                                   is_through = left > 0;
                                   if (!is_through) return false;
                                   copy_["activity"].push_back(show_change(change));
                                   changes_before_ = number;
                                   --left;
                                   return true;
                                 });
  return is_through;
}

std::string MeasureCopy::encode() const {
  std::string bytes(sizeof(std::uint64_t), '\0');
  Json::to_cbor(copy_, bytes);
  const std::uint64_t hash = hash_of(std::string_view(bytes).substr(sizeof hash));
  std::memcpy(bytes.data(), &hash, sizeof hash);
  return bytes;
}

bool restore(std::string_view bytes, const Measures& measures, Time now) {
  std::uint64_t hash = 0;
  if (bytes.size() < sizeof hash) return false;
  std::memcpy(&hash, bytes.data(), sizeof hash);
  bytes.remove_prefix(sizeof hash);
  if (hash != hash_of(bytes)) return false;
  try {
    const Json copy = Json::from_cbor(bytes);
    if (copy.at("version") != kVersion) return false;
    const auto lines_of = [&copy, now](const char* list) {
      std::vector<Series::NamedLine> lines;
      for (const Json& each : copy.at(list)) {
        if (auto line = Line::load(text_at(each, 1), now)) {
          lines.push_back({text_at(each, 0), *std::move(line)});
        }
      }
      return lines;
    };
    Series::Lines lines{.server = {}, .queues = lines_of("queues"), .types = lines_of("types")};
    if (!copy.at("server").is_null()) {
      lines.server = Line::load(copy.at("server").get_ref<const std::string&>(), now);
    }
    std::vector<FailureSeries::Saved> groups;
    for (const Json& each : copy.at("failures")) {
      groups.push_back({.number = each.at(0),
                        .name = {.type = text_at(each, 1), .message = text_at(each, 2)},
                        .last_at = time_of(each.at(3)),
                        .bytes = text_at(each, 4)});
    }
    std::vector<Change> changes;
    for (const Json& each : copy.at("activity")) changes.push_back(read_change(each));
    std::erase_if(changes, [now](const Change& each) { return each.at > now; });
    std::reverse(changes.begin(), changes.end());
    // While it was copied, some may have occurred again.
    std::ranges::stable_sort(groups, std::greater(), &FailureSeries::Saved::last_at);
    // Nothing is taken of a copy that is not whole. Earlier programs had no alerts.
    measures.alerts.restore(copy.value("alerts", Json::array()));
    for (FailureSeries::Saved& each : groups) measures.failures.restore(std::move(each), now);
    measures.series.restore(std::move(lines), now);
    for (Change& each : changes) measures.activity.note(std::move(each));
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

}  // namespace millrace::http
