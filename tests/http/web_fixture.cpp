#include "http/web_fixture.hpp"

#include "beanstalk/argument.hpp"
#include "faktory/job/stored_form.hpp"
#include "faktory/json/text.hpp"
#include "support/doctest.hpp"

namespace millrace::http {
namespace {

ReserveRequest request_for(std::string_view queue, Time wait_until) {
  return {.choice = ReserveRequest::Choice::kFirstListed,
          .queues = {queue},
          .wid = "w1",
          .wait_until = wait_until};
}

}  // namespace

Request request_of(const std::string& method, const std::string& target) {
  Request request{.method = method,
                  .caller = access::Caller::everybody(),
                  .target = target,
                  .path = target.substr(0, target.find('?'))};
  std::string query = target.substr(std::min(target.find('?'), target.size() - 1) + 1);
  while (target.find('?') != std::string::npos && !query.empty()) {
    const std::string pair = query.substr(0, query.find('&'));
    query.erase(0, pair.size() + 1);
    const std::size_t equals = std::min(pair.find('='), pair.size() - 1);
    request.params.emplace(pair.substr(0, equals), pair.substr(equals + 1));
  }
  return request;
}

WebFixture::WebFixture()
    : site{
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
          .facts = {.version = "1.2.3",
                    .hostname = "web",
                    .pid = 7,
                    .instance = "first",
                    .started_at = now,
                    .options = {{"sync", "always"}}},
          .traffic = [this] { return traffic; },
          .cluster = [this] { return cluster; },
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
          .random = [] { return std::uint64_t{0xabc}; },
          .draw_secret =
              [this] {
                const char drawn = static_cast<char>('a' + secrets_++);
                return NewSecret{.text = std::string("mrt_") + drawn,
                                 .hash = std::string(kTokenHashBytes, drawn)};
              }},
      worker_(broker.connect(session_)) {
  broker.watch_failures(&failures);
  CHECK(broker.workers().add(worker_,
                             {.wid = "w1", .hostname = "box", .pid = 9, .labels = {"ruby"}}, now));
}

Response WebFixture::get(const std::string& target) {
  Response response = ask_all(request_of("GET", target));
  if (response.write_body) response.body = response.write_body();
  return response;
}

Response WebFixture::post(const std::string& target, const Json& body) {
  Request request = request_of("POST", target);
  request.body = body.dump();
  return ask_all(std::move(request));
}

Response WebFixture::ask_all(Request request) {
  Response response = ask(std::move(request));
  for (turns = 1; response.go_on; ++turns) {
    if (response.meanwhile) response.meanwhile();
    response = response.go_on(now);
  }
  return response;
}

Response WebFixture::ask(Request request) {
  if (auto refused = prepare(site, request)) return *std::move(refused);
  return answer(site, request, {.now = now, .system = system});
}

Json WebFixture::read(const std::string& target) {
  const Response response = get(target);
  REQUIRE_MESSAGE(response.status == 200, response.body);
  return Json::parse(response.body);
}

JobId WebFixture::put(std::string_view body, std::string_view tube) {
  return broker.put({.queue = tube, .body = body, .ttr_s = 60}, now).value();
}

JobId WebFixture::push(std::string_view jobtype, std::string_view queue, std::string_view more) {
  const std::string json = R"({"jid":"job-)" + std::to_string(1000 + ++pushed_) +
                           R"(","jobtype":")" + std::string(jobtype) + R"(","queue":")" +
                           std::string(queue) + R"(","args":[1,"two"])" + std::string(more) + "}";
  const Result<JobId, PushRefusal> id = service.push(json, now, access::Caller::everybody());
  REQUIRE_MESSAGE(id, id.error().text);
  return *id;
}

ClientId WebFixture::worker(const std::string& wid) {
  const ClientId client = broker.connect(session_);
  CHECK(broker.workers().add(client, {.wid = wid, .hostname = "host", .pid = 1}, now));
  return client;
}

JobId WebFixture::fetch(std::string_view queue) {
  const auto got = broker.reserve(worker_, request_for(queue, now), now);
  REQUIRE(got);
  REQUIRE(got->kind == Delivery::Kind::kJob);
  return got->job->id;
}

void WebFixture::wait(std::string_view queue) {
  REQUIRE_FALSE(broker.reserve(worker_, request_for(queue, now + 2s), now));
}

JobId WebFixture::fail(std::string_view jobtype, std::string_view message, bool is_last,
                       std::string_view queue) {
  const JobId id = push(jobtype, queue, is_last ? R"(,"retry":-1)" : "");
  REQUIRE(fetch(queue) == id);
  CHECK(broker.workers().fail(
      worker_, format.identify(*find(id)).jid,
      {.errtype = "Oops", .message = std::string(message), .backtrace = {"a:1"}}, now));
  return id;
}

void WebFixture::acknowledge(JobId id) {
  CHECK(broker.workers().ack(worker_, format.identify(*find(id)).jid, now));
}

void WebFixture::settle() {
  while (bulks.work(now)) {
  }
}

}  // namespace millrace::http
