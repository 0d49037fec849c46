#include "http/routes/alerts.hpp"

#include "http/kit/text.hpp"
#include "http/routes/handlers.hpp"

/// What is sent to others, and silences.
namespace millrace::http {
namespace {

constexpr std::uint64_t kSilenceSecondsMax = 366 * 24 * 3600;

Response say_changed(const Call& call, bool is_known, std::string changed) {
  if (!is_known) return refuse(404, "there is no such alert in the config file");
  const WallClock clock = call.site.broker.view().wall_clock();
  return {.body = dump(call.site.alerts.show(clock)), .changed = std::move(changed)};
}

}  // namespace

Response list_alerts(const Call& call) {
  return {.body = dump(call.site.alerts.show(call.site.broker.view().wall_clock()))};
}

Response silence_alert(const Call& call) {
  const Json seconds = call.request.members.value("seconds", Json());
  if (!seconds.is_number_unsigned() || seconds < 1 || seconds > kSilenceSecondsMax) {
    return refuse(400, concat("seconds is not a whole number from 1 to ", kSilenceSecondsMax));
  }
  const auto count = seconds.get<std::uint64_t>();
  const Time until = call.moment.now + std::chrono::seconds(count);
  return say_changed(call, call.site.alerts.silence(call.name, until),
                     concat("silenced for ", count, " s"));
}

Response unsilence_alert(const Call& call) {
  return say_changed(call, call.site.alerts.silence(call.name, Time{}), "not silenced");
}

Response test_alert(const Call& call) {
  return say_changed(call, call.site.alerts.test(call.name, call.moment.now), "test");
}

}  // namespace millrace::http
