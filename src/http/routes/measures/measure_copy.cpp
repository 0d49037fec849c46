#include "http/routes/measures/measure_copy.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <iterator>
#include <utility>

#include "base/hash.hpp"

/// The bytes are a hash of the rest, and the rest a document in the CBOR of nlohmann_json: other
/// than RFC 8949 has it, a text may be any bytes.
namespace millrace::http {
namespace {

/// To be raised when a ring or a member changes: then what earlier programs wrote is dropped.
constexpr int kVersion = 3;

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

/// Null, which has no members: they are damaged, or of another version. May throw as well.
Json decode(std::string_view bytes) {
  std::array<std::uint64_t, 1> hash{};
  if (!take_bytes(bytes, hash) || hash.front() != hash_of(bytes)) return nullptr;
  Json copy = Json::from_cbor(bytes);
  return copy.at("version") == kVersion ? copy : Json(nullptr);
}

const std::string& text_at(const Json& list, std::size_t place) {
  return list.at(place).get_ref<const std::string&>();
}

}  // namespace

MeasureCopy::MeasureCopy(const Measures& measures, std::optional<Block> block)
    : measures_(measures),
      block_(block),
      queues_(measures.series.queue_names()),
      types_(measures.series.type_names()),
      groups_(measures.failures.groups_since(Time::min())),
      copy_{{"version", kVersion}} {
  if (!block_) {
    copy_["alerts"] = measures.alerts.save();
    copy_["trend"] = measures.trend.save();
    copy_["fleet"] = measures.fleet.save();
  }
  for (const char* const list : {"server", "queues", "types", "failures"}) {
    copy_[list] = Json::array();
  }
  add("server", "", measures.series.server());
}

bool MeasureCopy::work() {
  const std::size_t types_at = queues_.size();
  const std::size_t groups_at = types_at + types_.size();
  const std::size_t end = groups_at + groups_.size();
  const std::size_t slice_end = std::min(next_ + kSlice, end);
  for (; next_ < slice_end; ++next_) {
    if (next_ < types_at) {
      add("queues", queues_[next_], measures_.series.find_queue(queues_[next_]));
    } else if (next_ < groups_at) {
      const std::string& name = types_[next_ - types_at];
      add("types", name, measures_.series.find_type(name));
    } else {
      add(groups_[next_ - groups_at]);
    }
  }
  return next_ == end;
}

// What is gone since the beginning is left out.

void MeasureCopy::add(const char* list, const std::string& name, const Line* line) {
  if (line == nullptr) return;
  std::string bytes;
  if (block_) {
    append_bytes(line->points_in(*block_), bytes);
  } else {
    bytes = line->save();
  }
  if (!bytes.empty()) copy_[list].push_back(Json::array({name, std::move(bytes)}));
}

void MeasureCopy::add(std::uint64_t number) {
  if (!block_) {
    auto group = measures_.failures.save(number);
    if (!group) return;
    copy_["failures"].push_back(
        Json::array({group->number, std::move(group->name.type), std::move(group->name.message),
                     number_of(group->last_at), std::move(group->bytes)}));
    return;
  }
  const std::int64_t end = block_->begin() + block_->points();
  const auto counts = measures_.failures.counts(number, block_->span, end);
  if (!counts || std::ranges::count(*counts, 0U) == std::ssize(*counts)) return;
  std::vector<SmallNumber> numbers(kSpans[block_->span].points);
  std::ranges::transform(*counts, numbers.end() - std::ssize(*counts),
                         [](std::uint64_t count) { return SmallNumber(count); });
  std::string bytes;
  append_bytes(numbers, bytes);
  copy_["failures"].push_back(Json::array({std::to_string(number), std::move(bytes)}));
}

std::string MeasureCopy::encode() const {
  std::string bytes(sizeof(std::uint64_t), '\0');
  Json::to_cbor(copy_, bytes);
  const std::uint64_t hash = hash_of(std::string_view(bytes).substr(sizeof hash));
  std::memcpy(bytes.data(), &hash, sizeof hash);
  return bytes;
}

bool restore(std::string_view bytes, const Measures& measures, Time now) {
  try {
    const Json copy = decode(bytes);
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
    for (Series::NamedLine& each : lines_of("server")) lines.server = std::move(each.line);
    std::vector<FailureSeries::Saved> groups;
    for (const Json& each : copy.at("failures")) {
      groups.push_back({.number = each.at(0),
                        .name = {.type = text_at(each, 1), .message = text_at(each, 2)},
                        .last_at = time_of(each.at(3)),
                        .bytes = text_at(each, 4)});
    }
    // While it was copied, some may have occurred again.
    std::ranges::stable_sort(groups, std::greater(), &FailureSeries::Saved::last_at);
    // Nothing is taken of a copy that is not whole. Earlier programs had none of these.
    Trend trend = Trend::load(copy.value("trend", Json::array()), now);
    Fleet fleet = copy.contains("fleet") ? Fleet::load(copy.at("fleet"), now) : Fleet();
    measures.trend = std::move(trend);
    measures.fleet = std::move(fleet);
    measures.alerts.restore(copy.value("alerts", Json::array()));
    for (FailureSeries::Saved& each : groups) measures.failures.restore(std::move(each), now);
    measures.series.restore(std::move(lines), now);
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

std::vector<Point> find_points(std::string_view bytes, const std::string& list,
                               const std::string& name, const Block& block) {
  std::vector<Point> points(kSpans[block.span].points);
  try {
    const Json copy = decode(bytes);
    for (const Json& each : copy.at(list)) {
      if (text_at(each, 0) != name) continue;
      std::string_view rest = text_at(each, 1);
      if (list != "failures") return take_bytes(rest, points) ? points : std::vector<Point>();
      std::vector<SmallNumber> numbers(points.size());
      if (!take_bytes(rest, numbers)) return {};
      for (std::size_t i = 0; i < points.size(); ++i) points[i].failed = numbers[i];
      return points;
    }
  } catch (const Json::exception&) {
    // As if it were not there.
  }
  return {};
}

}  // namespace millrace::http
