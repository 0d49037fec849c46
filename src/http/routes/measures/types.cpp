#include "core/broker/features/type_meters.hpp"
#include "http/kit/json.hpp"
#include "http/routes/handlers.hpp"

/// How runs end, by jobtype.
namespace millrace::http {
namespace {

Json show_meter(const TypeMeter& meter, const Moment& moment, WallClock clock) {
  return {{"processed", meter.processed.total},
          {"failed", meter.failed.total},
          {"processed_per_s", show_rate(meter.processed.rate.per_second(moment.now))},
          {"failed_per_s", show_rate(meter.failed.rate.per_second(moment.now))},
          {"run_p50_s", show_length(meter.run.quantile(0.5))},
          {"run_p95_s", show_length(meter.run.quantile(0.95))},
          {"last_at", show_time(meter.last_at, clock)}};
}

}  // namespace

Response list_types(const Call& call) {
  const WallClock clock = call.site.broker.view().wall_clock();
  const TypeMeters& meters = call.site.broker.types();
  Json types = Json::array();
  meters.each([&](std::string_view type, const TypeMeter& meter) {
    Json row{{"type", type}};
    row.update(show_meter(meter, call.moment, clock));
    types.push_back(std::move(row));
  });
  return {.body = dump({{"types", std::move(types)},
                        {"others", show_meter(meters.others(), call.moment, clock)},
                        {"types_max", TypeMeters::kTypesMax}})};
}

}  // namespace millrace::http
