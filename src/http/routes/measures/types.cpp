#include <string>
#include <utility>
#include <vector>

#include "core/broker/features/type_meters.hpp"
#include "http/kit/json.hpp"
#include "http/routes/handlers.hpp"

/// How runs end, by type.
namespace millrace::http {
namespace {

/// Copies of the meters: their texts take ten times as long, and are written outside of the
/// broker's thread.
struct MetersNow {
  Time now;
  WallClock clock;
  TypeMeter others;
  std::vector<std::pair<std::string, TypeMeter>> types = {};
};

Json show_meter(const TypeMeter& meter, Time now, WallClock clock) {
  return {{"processed", meter.processed.total},
          {"failed", meter.failed.total},
          {"processed_per_s", show_rate(meter.processed.rate.per_second(now))},
          {"failed_per_s", show_rate(meter.failed.rate.per_second(now))},
          {"run_p50_s", show_length(meter.run.quantile(0.5))},
          {"run_p95_s", show_length(meter.run.quantile(0.95))},
          {"last_at", show_time(meter.last_at, clock)}};
}

std::string write(const MetersNow& all) {
  Json types = Json::array();
  for (const auto& [type, meter] : all.types) {
    Json row{{"type", type}};
    row.update(show_meter(meter, all.now, all.clock));
    types.push_back(std::move(row));
  }
  return dump({{"types", std::move(types)},
               {"others", show_meter(all.others, all.now, all.clock)},
               {"types_max", TypeMeters::kTypesMax}});
}

}  // namespace

/// `type`: that one alone.
Response list_types(const Call& call) {
  const TypeMeters& meters = call.site.broker.types();
  const std::string_view wanted = call.request.param("type");
  MetersNow all{.now = call.moment.now,
                .clock = call.site.broker.view().wall_clock(),
                .others = meters.others()};
  meters.each([&](std::string_view type, const TypeMeter& meter) {
    if (wanted.empty() || type == wanted) all.types.emplace_back(type, meter);
  });
  return {.write_body = [all = std::move(all)] { return write(all); }};
}

}  // namespace millrace::http
