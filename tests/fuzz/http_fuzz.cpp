// Requests to the web port, whatever their paths, parameters, headers and bodies: each is answered,
// an answer in JSON is JSON, and what it names as the place to go on is understood.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/base64.hpp"
#include "base/text.hpp"
#include "beanstalk/argument.hpp"
#include "core/model/failure_group.hpp"
#include "faktory/job/stored_form.hpp"
#include "faktory/job/work_unit.hpp"
#include "faktory/json/text.hpp"
#include "faktory/service.hpp"
#include "http/cron_table.hpp"
#include "http/kit/guard.hpp"
#include "http/kit/input.hpp"
#include "http/kit/text.hpp"
#include "http/routes/alerts.hpp"
#include "http/routes/job_filter.hpp"
#include "http/routes/site.hpp"

namespace {

using namespace millrace;
using namespace millrace::http;

void check(bool holds) {
  if (!holds) std::abort();
}

/// A broker with jobs in several states, and the service over it.
struct SampleWeb {
  SampleWeb() {
    const auto push = [&](std::string_view json) {
      check(service.push(json, now, access::Caller::everybody()).has_value());
    };
    push(R"({"jid":"job-00000001","jobtype":"Mail","queue":"mail","args":[1]})");
    push(R"({"jid":"job-00000002","jobtype":"Mail","args":[],"at":"2099-01-01T00:00:00Z"})");
    check(broker.put({.queue = "tube", .body = "\xff\x00"}, now).has_value());
    const auto dead = broker.put({.queue = "tube", .body = "{}"}, now);
    check(broker.admin().change(*dead, Mutation::Action::kKill, now).has_value());
  }

  Time now{std::chrono::seconds{1'700'000'000}};
  faktory::WorkUnits format;
  Ledger ledger;
  Broker broker{ledger, format, {.random_seed = 1, .dead_jobs_max = 1000}};
  faktory::Service service{broker, format, {}, now};
  BulkChanges bulks{broker};
  CronTable cron{service, broker};
  Trend trend;
  Series series;
  FailureSeries failures;
  StuckWorkers stuck;
  Fleet fleet;
  Alerts alerts;
  Site site{
      .broker = broker,
      .format = format,
      .bulks = bulks,
      .cron = cron,
      .trend = trend,
      .series = series,
      .failures = failures,
      .stuck = stuck,
      .fleet = fleet,
      .alerts = alerts,
      .facts = {},
      .traffic = [] { return TrafficFacts{}; },
      .push = [this](std::string_view json, Time at,
                     const access::Caller& caller) { return service.push(json, at, caller); },
      .info = [this](Time at, QueueSizes sizes) { return service.info(at, std::move(sizes)); },
      .push_in_parts = [this](auto caller) { return service.push_in_parts(std::move(caller)); },
      .is_queue_name =
          [](std::string_view name, JobKind kind) {
            return faktory::is_queue_name(name) ||
                   (kind == JobKind::kBytes && beanstalk::is_tube_name(name));
          },
      .args_part = faktory::args_part,
      .random = [] { return std::uint64_t{7}; },
      .draw_secret =
          [this] {
            const std::string number = std::to_string(++secrets);
            return NewSecret{.text = number,
                             .hash = number + std::string(kTokenHashBytes - number.size(), '-')};
          }};
  int secrets = 0;
};

/// One with some rights, since tokens are those of users.
access::Caller user() {
  static const access::SharedUsers users =
      std::make_shared<const access::Users>(std::vector<access::User>{
          {.name = "ana",
           .grants = {{.queues = {"mail*"}, .may = {access::Right::kView, access::Right::kPush}}},
           .secrets = {},
           .web_passwords = {}}});
  return {users, users->all().front()};
}

/// Method and path, then `name=value` of the query, then `name: value` headers, then a blank line
/// and the body.
Request read_request(std::string_view input) {
  Request request{.caller = access::Caller::everybody()};
  const std::string_view first = take_line(input);
  const std::size_t space = std::min(first.find(' '), first.size());
  request.method = first.substr(0, space);
  request.path = first.substr(std::min(space + 1, first.size()));
  while (!input.empty()) {
    const std::string_view line = take_line(input);
    if (line.empty()) break;
    const std::size_t mark = std::min(line.find_first_of("=:"), line.size());
    const std::string_view value = line.substr(std::min(mark + 1, line.size()));
    if (mark < line.size() && line[mark] == '=') {
      request.params.emplace(line.substr(0, mark), value);
    } else {
      request.headers.emplace(lower_case(line.substr(0, mark)), trimmed(value));
    }
  }
  if (request.path.starts_with("/api/v1/tokens")) request.caller = user();
  request.body = input;
  return request;
}

void check_parsers(const Request& request) {
  (void)login_of(request, {.password = "secret"});
  (void)is_own_host(request.header("host"), {"jobs.example"});
  const std::string prefix = clean_prefix(request.header("x-script-name"));
  check(prefix.size() <= kPrefixBytesMax && prefix.find_first_of("\"<> ") == prefix.npos);
  if (const auto bytes = from_base64(request.body)) {
    check(from_base64(base64(*bytes)) == bytes);
  }
  if (const auto place = parse_place(request.body)) {
    check(show_place(*parse_place(show_place(*place))) == show_place(*place));
  }
  check(normalized_message(request.body).size() <= 300);
  check(cut(request.body, 10).size() <= 10);
}

/// In all its turns.
Response ask(SampleWeb& web, Request request) {
  if (auto refused = prepare(web.site, request)) return *std::move(refused);
  Response response = answer(web.site, request, {.now = web.now, .system = {}});
  while (response.go_on) {
    if (response.meanwhile) response.meanwhile();
    response = response.go_on(web.now);
  }
  return response;
}

void check_answer(SampleWeb& web, Request request) {
  Response response = ask(web, request);
  check(response.status >= 200 && response.status < 600);
  if (response.write_body) response.body = response.write_body();
  if (response.type != "application/json") return;
  const Json json = Json::parse(response.body, nullptr, false);
  check(!json.is_discarded());
  check(response.status < 400 || json["error"].is_string() || json.contains("status"));
  const bool goes_on = json.is_object() && json.contains("next") && json["next"].is_string();
  if (!goes_on || response.status != 200) return;
  request.params.erase("cursor");
  request.params.emplace("cursor", json["next"].get<std::string>());
  check(ask(web, request).status == 200);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Request request = read_request({reinterpret_cast<const char*>(data), size});
  check_parsers(request);
  SampleWeb web;
  // What a guard refuses never comes further.
  const auto refused = check(request, {.hosts = {"jobs.example"}}, Login::kNone);
  if (refused) {
    check(refused->status >= 400);
    return 0;
  }
  check_answer(web, request);
  for (int turn = 0; turn < 100 && web.bulks.work(web.now); ++turn) {
  }
  return 0;
}
