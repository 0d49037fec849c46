#include "core/broker/features/activity.hpp"

#include <algorithm>

#include "base/number.hpp"
#include "base/text.hpp"
#include "http/kit/guard.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/handlers.hpp"

/// Who has changed what.
namespace millrace::http {
namespace {

constexpr std::string_view kApiPath = "/api/v1/";

/// `queues/pause` for `/api/v1/queues/*/pause`.
std::string action_of(std::string_view path) {
  path.remove_prefix(kApiPath.size());
  const std::size_t star = path.find("/*");
  return star == path.npos ? std::string(path)
                           : concat(path.substr(0, star), path.substr(star + 2));
}

/// What the client says it is.
std::string client_of(const Request& request) {
  if (is_from_page(request)) return "web UI";
  const std::string_view agent = request.header("user-agent");
  return std::string(agent.substr(0, agent.find(' ')));
}

/// The page that the web UI says it shows. Any client may say anything.
std::string page_of(const Request& request) {
  const std::string_view page = request.header("x-page");
  const bool is_path = page.starts_with('/') && std::ranges::all_of(page, [](char c) {
                         return c > ' ' && c <= '~' && c != '\\';
                       });
  return is_path ? std::string(page) : std::string();
}

/// A proxy names the client that it speaks for.
std::string address_of(const Request& request) {
  const std::string_view client = request.header("x-forwarded-for");
  constexpr std::size_t kAddressBytesMax = 45;  // of an IPv6 address (RFC 4291, 2.2)
  return client.empty() ? request.from
                        : concat(cut(client, kAddressBytesMax), " by ", request.from);
}

Json show_change(Activity::Number number, const Change& change, const Site& site) {
  const BulkChanges::Progress* const running =
      change.changed ? nullptr : site.bulks.find(change.operation);
  return {{"number", number},
          {"at", show_time(change.at, site.broker.view().wall_clock())},
          {"protocol", change.protocol},
          {"from", change.from},
          {"user", change.user},
          {"client", change.client},
          {"action", change.action},
          {"target", change.target},
          {"details", change.details},
          {"page", text_or_null(change.page)},
          {"changed", change.changed ? Json(*change.changed)
                      : running      ? Json(running->changed)
                                     : Json(nullptr)},
          {"is_running", running != nullptr}};
}

/// The change was made, if that is what the response says; it may come later.
Response note(Activity& activity, Response response, Change change) {
  if (response.go_on) {
    response.go_on = [&activity, change = std::move(change), go_on = std::move(response.go_on)](
                         Time now) { return note(activity, go_on(now), change); };
    return response;
  }
  if (response.status >= 300) return response;
  const Json said = Json::parse(response.body, nullptr, false);
  change.details = response.changed;
  if (said.contains("phase")) {
    change.operation = said["id"].get<std::uint64_t>();
    change.details = said["title"].get<std::string>();
  } else if (said.contains("changed")) {
    change.changed = said["changed"].get<std::uint64_t>();
  }
  // One job, since the request succeeded.
  if (change.action.starts_with("jobs") && !change.changed) change.changed = 1;
  if (change.target.empty() && change.action == "jobs") change.target = to_string(said["id"]);
  activity.note(std::move(change));
  return response;
}

}  // namespace

Response note_change(const Call& call, std::string_view path, Response response) {
  const Request& request = call.request;
  return note(call.site.broker.activity(), std::move(response),
              {.at = call.moment.now,
               .protocol = "http",
               .from = address_of(request),
               .user = user_of(request),
               .client = client_of(request),
               .action = action_of(path),
               .target = call.name,
               .details = {},
               .page = page_of(request)});
}

Response list_activity(const Call& call) {
  const Outcome<std::size_t> limit = read_limit(call.request);
  if (!limit) return refuse(400, limit.error().text);
  Activity& activity = call.site.broker.activity();
  Activity::Number before = activity.end();
  if (const std::string_view cursor = call.request.param("cursor"); !cursor.empty()) {
    const auto number = parse_number<Activity::Number>(cursor);
    if (!number) return refuse(400, kWrongCursor);
    before = *number;
  }
  Json rows = Json::array();
  Json next = nullptr;
  activity.each_before(before, [&](Activity::Number number, const Change& change) {
    if (rows.size() == *limit) {
      next = std::to_string(number + 1);
      return false;
    }
    rows.push_back(show_change(number, change, call.site));
    return true;
  });
  return {.body = dump({{"changes", std::move(rows)}, {"next", std::move(next)}})};
}

}  // namespace millrace::http
